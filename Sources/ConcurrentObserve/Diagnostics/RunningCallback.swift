// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObserveDiagnostics {
    /// Returns the callbacks that have been seen running for at least `age`, the oldest first. Use
    /// it for warnings about stuck callbacks.
    ///
    /// An age is real time, measured from the moment at which the library first saw the callback.
    /// The library checks which callbacks run when this or `current()` is called, while something
    /// waits to be reclaimed, and otherwise once a second on its reclamation thread. These checks
    /// cost callbacks and notifications nothing. Any thread, also inside a callback; never waits
    /// for user code.
    ///
    /// - Complexity: O(threads); for each returned callback, O(sources with a label and their
    ///   observers).
    public static func callbacks(runningFor age: Duration) -> [ObservationReport] {
        let running = CallbackAges.shared.look()
        let now = ContinuousClock.now
        return
            running
            .filter { $0.since.duration(to: now) >= age }
            .sorted { $0.since < $1.since }
            .map { sighting, since in
                ObservationReport(
                    identity: .call(sighting),
                    label: LabelledObservations.label(ofObserverAt: sighting.current)
                        ?? LabelledRegistries.label(ofObserverAt: sighting.current),
                    age: since.duration(to: now),
                    counts: nil
                )
            }
    }
}
