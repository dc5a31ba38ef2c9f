// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Wraps any clock in one type. Its instants are instants of the system's continuous clock.
///
/// An instant is the system's time at which the wrapper was made, plus the time that the wrapped
/// clock has measured since.
struct MirrorClock: Clock {
    let minimumResolution: Duration
    private let present: @Sendable () -> ContinuousClock.Instant
    private let wait: @Sendable (ContinuousClock.Instant, Duration?) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        // A wrapped continuous clock keeps its own instants: users compare them with its other
        // instants.
        let origin = start as? ContinuousClock.Instant ?? .now
        minimumResolution = clock.minimumResolution
        present = { origin + start.duration(to: clock.now) }
        wait = { deadline, tolerance in
            try await clock.sleep(until: start.advanced(by: origin.duration(to: deadline)), tolerance: tolerance)
        }
    }

    var now: ContinuousClock.Instant { present() }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration? = nil) async throws {
        try await wait(deadline, tolerance)
    }
}
#endif
