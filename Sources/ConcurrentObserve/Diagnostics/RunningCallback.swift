// SPDX-License-Identifier: Apache-2.0

/// A callback that was running at the moment of the look.
public struct RunningCallback: Sendable, Identifiable {
    /// Distinguishes one call of a callback from others, of one observer too.
    public struct ID: Sendable, Hashable {
        fileprivate let sighting: CallbackAges.Sighting
    }

    /// Every look that finds this call has this value.
    public let id: ID

    /// How long it has been seen running: a lower bound, counted from the first look at it.
    public let age: Duration

    /// The label of its observation, or, if that has none, of the property or registry; nil if
    /// neither has. An observation that has ended since may have lost that of its source.
    public let label: String?
}

extension ConcurrentObserveDiagnostics {
    /// The callbacks that have been seen running for at least `age`, the oldest first. For warnings
    /// about stuck callbacks.
    ///
    /// An age counts from the first look that found the callback. Looks happen when this or
    /// `current()` is called, while something waits to be reclaimed, and otherwise once a second on
    /// the library's reclamation thread. They cost the callbacks and the notifications nothing. Any
    /// thread, also inside a callback; never waits for user code.
    ///
    /// - Complexity: O(threads); for each callback that is returned, O(sources with a label and
    ///   their observers).
    public static func callbacks(runningFor age: Duration) -> [RunningCallback] {
        Fork.prepare()
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
