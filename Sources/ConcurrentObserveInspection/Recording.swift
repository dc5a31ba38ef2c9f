// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve
import ConcurrentObservePlatform

extension ConcurrentObserveDiagnostics {
    /// Records from now on who makes observations, where and when, and why derived values are
    /// computed. Any thread; a second call does nothing.
    ///
    /// Observations that were made before are not recorded, so a service calls this when it starts.
    /// While the library records, each registration keeps the addresses of its calls, which takes
    /// some microseconds, and each run of a derived value's function keeps the versions that it has
    /// read. Otherwise a registration and a run each load one flag.
    ///
    /// - Parameter clock: Measures how long ago an observation was made. Its `now` is read when an
    ///   observation begins, under no lock of the library. It must not observe.
    public static func startRecording(clock: some Clock<Duration> = ContinuousClock()) {
        Origin.prepare()
        let start = clock.now
        let age = { @Sendable in start.duration(to: clock.now) }
        _ = ObservationScope { RecordedOrigin(origin: .capture(), time: age(), now: age) }.beginForProcess()
    }

    /// Stops recording, and forgets what was recorded. Any thread.
    public static func stopRecording() {
        ObservationScope.endForProcess()
        PlaceNames.forget()
    }
}

/// The calls that made an observation, and the time at which they did.
internal final class RecordedOrigin: @unchecked Sendable {
    // Unchecked: `place` is guarded by `lock`.
    let origin: Origin
    /// The time at which the observation was made. `now` returns the present time. Both are
    /// measured from the begin of the recording.
    let time: Duration
    let now: @Sendable () -> Duration

    private let lock = Lock()
    private var place: String??

    init(origin: Origin, time: Duration, now: @escaping @Sendable () -> Duration) {
        (self.origin, self.time, self.now) = (origin, time, now)
    }

    /// The file and the line that made the observation, `.some(nil)` if nothing is known of it; nil
    /// until `findPlace(in:)` has found it.
    var knownPlace: String?? { lock.withLock { place } }

    /// Returns the file and the line that made the observation, and keeps it.
    func findPlace(in names: PlaceNames.Names) -> String? {
        let found = origin.place(in: names).map { $0?.text } ?? nil
        lock.withLock { place = found }
        return found
    }
}

extension MadeObservation {
    var recorded: RecordedOrigin? { origin as? RecordedOrigin }
}
