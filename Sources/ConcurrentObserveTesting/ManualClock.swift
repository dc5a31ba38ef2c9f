// SPDX-License-Identifier: Apache-2.0

public import Testing

/// A clock that stands still until a test advances it. Pass it to functions of the library that
/// take a clock.
///
/// ```swift
/// let clock = ManualClock()
/// let wait = Task { try await car.speed.first(timeout: .seconds(60), clock: clock) { $0 > 100 } }
/// try await clock.whenSleeping()
/// clock.advance(by: .seconds(60))
/// await #expect(throws: ObservationTimeout<Int>.self) { try await wait.value }
/// ```
///
/// Any thread may use it.
public final class ManualClock: Clock {
    /// A moment on the clock, given as the time since the clock was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let offset: Duration

        /// Makes the moment that is `offset` after the clock was made.
        public init(offset: Duration) { self.offset = offset }

        /// Returns the moment that is `duration` after this one.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the time from this moment to another one.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State: Sendable {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var sleeps = 0
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let state = Awaited(State())

    /// Makes a clock that shows zero.
    public init() {}

    /// The moment that the clock shows.
    public var now: Instant { state.update { $0.now } }

    /// The value zero: the clock can be advanced by any duration.
    public var minimumResolution: Duration { .zero }

    /// The number of tasks that are sleeping now.
    public var sleepers: Int { state.update { $0.sleepers.count } }

    /// The number of times that a task has begun to sleep. A sleep until a moment that has already
    /// passed counts, too.
    public var sleeps: Int { state.update { $0.sleeps } }

    /// Moves the clock forward, and wakes every task whose deadline it reaches, the earliest
    /// deadline first. It does not wait until the woken tasks run. If a woken task sleeps again,
    /// its time counts from the new moment.
    ///
    /// - Parameter duration: The time by which the clock moves forward.
    /// - Precondition: `duration` is not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "ConcurrentObserveTesting: a clock advances forward. Pass zero or more.")
        let woken = state.update { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Suspends until at least `count` tasks are sleeping at the same time. A test calls this
    /// before it advances the clock.
    ///
    /// - Parameters:
    ///   - count: The smallest number of sleeping tasks to wait for.
    ///   - limit: The longest time to wait, in real time.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Throws: An error that fails the test, if fewer tasks are sleeping at the limit.
    ///   `CancellationError` if the task is cancelled.
    public func whenSleeping(
        _ count: Int = 1,
        within limit: Duration = .seconds(10),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let isSleeping = try await state.wait(limit, ContinuousClock()) { $0.sleepers.count >= count }
        try #require(
            isSleeping,
            "\(sleepers) of \(count) tasks sleep after \(limit)",
            sourceLocation: sourceLocation
        )
    }

    /// Suspends until the clock shows `deadline` or later.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.update { state in
            state.sleeps += 1
            return state.sleeps
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sleeps = state.update { state in
                    // A later cancellation finds the sleeper, because it needs the lock.
                    if Task.isCancelled || deadline <= state.now { return false }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    return true
                }
                if !sleeps { continuation.resume(with: Result { try Task.checkCancellation() }) }
            }
        } onCancel: {
            state.update { $0.sleepers.removeValue(forKey: number) }?.continuation
                .resume(throwing: CancellationError())
        }
    }
}
