// SPDX-License-Identifier: Apache-2.0

#if Metrics
public import CoreMetrics

extension Timer {
    /// A callback that also records how long each of its calls took, on the thread that is called.
    ///
    /// ```swift
    /// let timer = Timer(label: "rename_seconds")
    /// let token = car.name.observe(timer.timing { change in index.rename(change.new) })
    /// ```
    ///
    /// A callback that is not wrapped is not timed, and costs nothing.
    public func timing<Event>(_ body: @escaping @Sendable (Event) -> Void) -> @Sendable (Event) -> Void {
        { [self] event in
            let begin = ContinuousClock.now
            defer { record(begin.duration(to: .now)) }
            body(event)
        }
    }

    /// A callback of two parameters that also records how long each of its calls took: one that
    /// receives its owner, or its observation, too.
    ///
    /// A callback that is not wrapped is not timed, and costs nothing.
    public func timing<First, Second>(
        _ body: @escaping @Sendable (First, Second) -> Void
    ) -> @Sendable (First, Second) -> Void {
        { [self] first, second in
            let begin = ContinuousClock.now
            defer { record(begin.duration(to: .now)) }
            body(first, second)
        }
    }

    private func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
