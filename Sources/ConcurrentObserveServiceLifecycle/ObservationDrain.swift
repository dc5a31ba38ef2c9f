// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import ConcurrentObserve
import Dispatch
public import ServiceLifecycle

/// Waits at shutdown until all retired items are reclaimed: captures are destroyed, and `onEnd` is
/// called.
///
/// Services shut down in the reverse order of their registration: name it first, and it drains
/// after all others have ended.
///
/// ```swift
/// let drain = ObservationDrain(within: .seconds(5))
/// let group = ServiceGroup(services: [drain, server], logger: logger)
/// ```
public struct ObservationDrain: Service {
    private let limit: Duration
    /// The clock that measures the limit; nil for the system's clock, with which the drain itself
    /// keeps the limit.
    private let clock: (any Clock<Duration>)?

    /// Makes the service.
    ///
    /// - Parameter limit: How long to wait at most, from the beginning of its own shutdown.
    public init(within limit: Duration = .seconds(10)) { (self.limit, clock) = (limit, nil) }

    /// Makes the service with a clock of your own: for tests, which pass one that they advance.
    ///
    /// A thread waits for the end of the reclamation, also after the limit.
    ///
    /// - Parameters:
    ///   - limit: How long to wait at most, from the beginning of its own shutdown.
    ///   - clock: The clock that measures the limit.
    public init(within limit: Duration, clock: some Clock<Duration>) { (self.limit, self.clock) = (limit, clock) }

    /// Waits for the graceful shutdown, then drains, without blocking a thread of the cooperative
    /// pool.
    ///
    /// If the service is cancelled, it ends at once, before the shutdown or while it drains. The
    /// remaining items are reclaimed without it. The thread that waits for them waits until the
    /// limit.
    ///
    /// - Throws: `ObservationDrainError` if the limit was reached.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            return
        }
        let deadline = clock == nil ? ContinuousClock.now + limit : nil
        // A stream, which ends for its reader when the task is cancelled: the drain itself cannot
        // be interrupted.
        let (outcomes, drain) = AsyncStream.makeStream(of: WaitOutcome.self)
        DispatchQueue.global().async {
            drain.yield(ConcurrentObserveDiagnostics.drain(deadline: deadline))
            drain.finish()
        }
        let timer = clock.map { clock in
            Task {
                try await clock.sleep(for: limit)
                drain.yield(.timedOut)
            }
        }
        defer { timer?.cancel() }
        var reader = outcomes.makeAsyncIterator()
        guard let outcome = await reader.next() else { return }
        if outcome != .finished {
            throw ObservationDrainError(backlog: ConcurrentObserveDiagnostics.current().backlog, limit: limit)
        }
    }
}

/// The drain has reached its limit: a callback is still running, or a deinitialiser blocks.
public struct ObservationDrainError: Error, CustomStringConvertible {
    /// The number of ended observations and replaced values that were not reclaimed in time.
    public let backlog: Int

    /// The time for which the drain has waited.
    public let limit: Duration

    public var description: String {
        "ConcurrentObserve: \(backlog) ended observations and replaced values are not reclaimed after \(limit). A callback is still running, or a deinitialiser blocks."
    }
}
#endif
