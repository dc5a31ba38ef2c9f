// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve
import Dispatch

/// Suspends until every event that was sent before the call is delivered, and everything that was
/// retired is destroyed. It also waits for events that these deliveries send.
///
/// It waits for the observations of the running test, which must have the trait
/// `leavesNothingBehind`. It neither sleeps nor polls. It does not wait for iterators, because a
/// loop may never ask for the next element. Do not call it in a callback that it waits for. It
/// waits until everything is destroyed that the whole process had retired. Therefore put tests that
/// block callbacks or deinitialisers into a `.serialized` suite.
///
/// ```swift
/// car.mileage.value = 7
/// try await whenQuiet()
/// #expect(display.text == "7 miles")
/// ```
///
/// - Parameter limit: The longest time to wait, in real time.
/// - Throws: ``NotQuiet`` if the limit passes first. `CancellationError` if the task is cancelled.
/// - Precondition: The running test has the trait `leavesNothingBehind`.
public func whenQuiet(within limit: Duration = .seconds(10)) async throws {
    guard let scope = ObservationScope.current ?? ObservationScope.only else {
        fatalError(
            "ConcurrentObserveTesting: whenQuiet() knows the observations of one test. Give the test, or its suite, the trait .leavesNothingBehind."
        )
    }
    let isQuiet = await scope.settles(before: .now + limit, flushing: true)
    try Task.checkCancellation()
    if !isQuiet { throw NotQuiet(scope, limit) }
}

/// The error that `whenQuiet(within:)` throws if the library is not quiet in time.
public struct NotQuiet: Error, CustomStringConvertible {
    /// The time for which `whenQuiet(within:)` waited.
    public let limit: Duration
    /// Descriptions of the test's observations whose events were not delivered: the number of
    /// events, the label, and the place where the observation was made.
    public let undelivered: [String]
    /// The running callbacks of the whole process.
    public let callbacks: [ObservationReport]
    /// The number of retired closures, values and tables that were not destroyed, in the whole
    /// process.
    public let backlog: Int

    init(_ scope: ObservationScope, _ limit: Duration) {
        self.limit = limit
        undelivered = scope.observations.compactMap { made in
            guard let pending = made.counts?.pending, pending > 0 else { return nil }
            return "\(pending) events for \(made.name)"
        }
        callbacks = ConcurrentObserveDiagnostics.callbacks(runningFor: .zero)
        backlog = ConcurrentObserveDiagnostics.current().backlog
    }

    public var description: String {
        let running = callbacks.map { callback in
            "a callback of \(callback.label.map { "'\($0)'" } ?? "an observation without a label") runs"
        }
        let retired = backlog == 0 ? [] : ["\(backlog) retired closures, values and tables are not destroyed"]
        return (["not quiet after \(limit):"] + undelivered + running + retired).joined(separator: "\n  ")
    }
}

extension ObservationScope {
    /// Suspends until the ended observations have finished, and everything that was retired is
    /// destroyed. `whenQuiet` uses it, and the trait at the end of a test.
    ///
    /// - Parameter flushing: Whether to wait for the events in mailboxes, too.
    /// - Returns: False if the deadline has passed, or the task is cancelled.
    func settles(before deadline: ContinuousClock.Instant, flushing: Bool) async -> Bool {
        var isSettled = false
        while !isSettled {
            // The destruction of a closure may end another observation, or send an event.
            // Everything is settled after a round that began with nothing to do, and in which
            // nothing new came.
            let (sent, hadEnded) = (sentCount, hasEndedObservations)
            if flushing, await !isFlushed(before: deadline) { return false }
            guard await isDrained(before: deadline), .now < deadline else { return false }
            isSettled = !hadEnded && !hasEndedObservations && (!flushing || sent == sentCount)
        }
        return true
    }

    /// Whether an observation has ended, but its closure is not destroyed yet.
    private var hasEndedObservations: Bool { observations.contains { !$0.isActive } }

    /// The number of events that were put into mailboxes. Only mailboxes that still exist count.
    private var sentCount: UInt64 { observations.reduce(0) { $0 &+ ($1.counts?.sent ?? 0) } }

    private func isFlushed(before deadline: ContinuousClock.Instant) async -> Bool {
        await withTaskGroup { group in
            group.addTask { await self.flush() }
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                return false
            }
            defer { group.cancelAll() }
            return await group.next()!
        }
    }
}

/// Suspends until everything that was retired before the call is destroyed. Returns false if the
/// deadline has passed, or the task is cancelled.
private func isDrained(before deadline: ContinuousClock.Instant) async -> Bool {
    // The drain cannot be interrupted. The stream can: it ends for its reader when the task is
    // cancelled.
    let (outcomes, drain) = AsyncStream.makeStream(of: WaitOutcome.self)
    // The drain has its own queue, and so its own thread, because other drains may block the
    // threads of the global queue.
    DispatchQueue(label: "observe-quiet").async {
        drain.yield(ConcurrentObserveDiagnostics.drain(deadline: deadline))
        drain.finish()
    }
    var reader = outcomes.makeAsyncIterator()
    return await reader.next() == .finished
}
