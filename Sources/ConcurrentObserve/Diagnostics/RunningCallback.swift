// SPDX-License-Identifier: Apache-2.0

/// A callback that was running at the moment of the look.
public struct RunningCallback: Sendable, Identifiable {
    /// Distinguishes one call of a callback from other calls, also of the same observer.
    public struct ID: Sendable, Hashable {
        fileprivate let sighting: CallbackAges.Sighting
    }

    /// Identifies the call. It is the same in every look that finds this call.
    public let id: ID

    /// How long the callback has been seen running: a lower bound, counted from the first look that
    /// found it.
    public let age: Duration

    /// The label of its observation, or, if that has none, of the property or registry; nil if
    /// neither has one. If the observation has ended, the label of its source may be missing.
    public let label: String?
}

extension ConcurrentObserveDiagnostics {
    /// Returns the callbacks that have been seen running for at least `age`, the oldest first. Use
    /// it for warnings about stuck callbacks.
    ///
    /// An age counts from the first look that found the callback. The library looks when this or
    /// `current()` is called, while something waits to be reclaimed, and otherwise once a second on
    /// its reclamation thread. A look costs callbacks and notifications nothing. Any thread, also
    /// inside a callback; never waits for user code.
    ///
    /// - Complexity: O(threads); for each returned callback, O(sources with a label and their
    ///   observers).
    public static func callbacks(runningFor age: Duration) -> [RunningCallback] {
        let running = CallbackAges.shared.look()
        let now = ContinuousClock.now
        return
            running
            .filter { $0.since.duration(to: now) >= age }
            .sorted { $0.since < $1.since }
            .map { sighting, since in
                RunningCallback(
                    id: RunningCallback.ID(sighting: sighting),
                    age: since.duration(to: now),
                    label: LabelledObservations.label(ofObserverAt: sighting.current)
                        ?? LabelledRegistries.label(ofObserverAt: sighting.current)
                )
            }
    }
}
