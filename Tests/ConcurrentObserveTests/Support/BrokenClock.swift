// SPDX-License-Identifier: Apache-2.0

/// A clock that cannot sleep.
struct BrokenClock: Clock {
    typealias Instant = ContinuousClock.Instant

    /// The error that the clock throws.
    struct IsBroken: Error {}

    /// Whether it cancels the sleeping task and returns, and does not throw.
    let cancels: Bool

    var now: Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        guard cancels else { throw IsBroken() }
        unsafe withUnsafeCurrentTask { task in unsafe task!.cancel() }
    }
}
