// SPDX-License-Identifier: Apache-2.0

#if Metrics
public import CoreMetrics

extension Timer {
    /// Returns a callback that also records the duration of each of its calls, on the thread that
    /// makes the call.
    ///
    /// ```swift
    /// let timer = Timer(label: "rename_seconds")
    /// let token = car.name.observe(timer.timing { change in index.rename(change.new) })
    /// ```
    ///
    /// A callback that is not wrapped is not timed, and costs nothing.
    public func timing<Event>(_ body: @escaping @Sendable (Event) -> Void) -> @Sendable (Event) -> Void {
        timing(clock: .continuous, body)
    }

    /// Returns a callback that also records the duration of each of its calls, measured by `clock`.
    ///
    /// - Parameters:
    ///   - clock: The clock that measures the calls. Tests pass a clock that they advance.
    ///   - body: The callback.
    public func timing<Event>(
        clock: some Clock<Duration>,
        _ body: @escaping @Sendable (Event) -> Void
    ) -> @Sendable (Event) -> Void {
        { [self] event in
            let begin = clock.now
            defer { record(begin.duration(to: clock.now)) }
            body(event)
        }
    }

    /// Returns a callback that also records the duration of each of its calls. It has two
    /// parameters: the event, and its owner or its observation.
    ///
    /// A callback that is not wrapped is not timed, and costs nothing.
    public func timing<First, Second>(
        _ body: @escaping @Sendable (First, Second) -> Void
    ) -> @Sendable (First, Second) -> Void {
        timing(clock: .continuous, body)
    }

    /// Returns a callback that also records the duration of each of its calls, measured by `clock`.
    /// It has two parameters: the event, and its owner or its observation.
    ///
    /// - Parameters:
    ///   - clock: The clock that measures the calls. Tests pass a clock that they advance.
    ///   - body: The callback.
    public func timing<First, Second>(
        clock: some Clock<Duration>,
        _ body: @escaping @Sendable (First, Second) -> Void
    ) -> @Sendable (First, Second) -> Void {
        { [self] first, second in
            let begin = clock.now
            defer { record(begin.duration(to: clock.now)) }
            body(first, second)
        }
    }

    private func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
