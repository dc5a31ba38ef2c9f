// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve
import ConcurrentObservePlatform

extension ConcurrentObserveDiagnostics {
    /// Begins to record where and when observations are made, and why derived values are computed.
    /// Call it from any thread. A second call does nothing.
    ///
    /// Earlier observations are not recorded, so a service calls this when it starts. While the
    /// library records, each registration stores the addresses of its calls, which takes some
    /// microseconds. Each run of a derived value's function stores the versions that it read.
    /// Without recording, a registration and a run each load one flag.
    ///
    /// - Parameter clock: Measures the ages of observations. Its `now` is read when an observation
    ///   begins, under no lock of the library. It must not make observations.
    public static func startRecording(clock: some Clock<Duration> = ContinuousClock()) {
        Origin.prepare()
        let start = clock.now
        let age = { @Sendable in start.duration(to: clock.now) }
        _ = ObservationScope { RecordedOrigin(origin: .capture(), time: age(), now: age) }.beginForProcess()
    }

    /// Stops recording, and deletes the records. Call it from any thread.
    public static func stopRecording() {
        ObservationScope.endForProcess()
        PlaceNames.forget()
    }
}

/// The calls that made an observation, and the time of the observation.
internal final class RecordedOrigin: @unchecked Sendable {
    // Unchecked: `place` is guarded by `lock`.
    let origin: Origin
    /// The time at which the observation was made. `now` returns the present time. Both count from
    /// the beginning of the recording.
    let time: Duration
    let now: @Sendable () -> Duration

    private let lock = Lock()
    private var place: String??

    init(origin: Origin, time: Duration, now: @escaping @Sendable () -> Duration) {
        (self.origin, self.time, self.now) = (origin, time, now)
    }

    /// The file and the line that made the observation. `.some(nil)` if nothing is known about
    /// them; nil before `findPlace(in:)` was called.
    var knownPlace: String?? { lock.withLock { place } }

    /// Finds the file and the line that made the observation, and stores them in `knownPlace`.
    func findPlace(in names: PlaceNames.Names) -> String? {
        let found = origin.place(in: names).map { $0?.text } ?? nil
        lock.withLock { place = found }
        return found
    }
}

extension MadeObservation {
    var recorded: RecordedOrigin? { origin as? RecordedOrigin }
}
