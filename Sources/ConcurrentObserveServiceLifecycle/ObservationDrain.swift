// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import ConcurrentObserve
import Dispatch
public import ServiceLifecycle

/// Waits at shutdown until everything that was retired is reclaimed: captures are destroyed, and
/// `onEnd` is called.
///
/// A service group shuts its services down in reverse order. Put the drain first in the list: then
/// it drains after all other services have ended.
///
/// ```swift
/// let drain = ObservationDrain(within: .seconds(5))
/// let group = ServiceGroup(services: [drain, server], logger: logger)
/// ```
public struct ObservationDrain: Service {
    private let limit: Duration
    /// The clock that measures the limit. Nil for the system's clock: then the drain itself keeps
    /// the limit.
    private let clock: (any Clock<Duration>)?

    /// Makes the service.
    ///
    /// - Parameter limit: The longest time to wait, from the beginning of this service's own
    ///   shutdown.
    public init(within limit: Duration = .seconds(10)) { (self.limit, clock) = (limit, nil) }

    /// Makes the service with a clock of your own. Tests pass a clock that they advance.
    ///
    /// A thread waits until everything is reclaimed, even if the limit passes first.
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait, from the beginning of this service's own shutdown.
    ///   - clock: The clock that measures the limit.
    public init(within limit: Duration, clock: some Clock<Duration>) { (self.limit, self.clock) = (limit, clock) }

    /// Waits for the graceful shutdown, and then drains. It does not block a thread of the
    /// cooperative pool.
    ///
    /// If the task is cancelled, the service ends at once, before the shutdown or during the drain.
    /// The remaining items are still reclaimed. The thread that waits for the reclamation goes on
    /// until everything is reclaimed, or until the limit by the system's clock.
    ///
    /// - Throws: `ObservationDrainError` if the limit was reached.
    public func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            return
        }
        let deadline = clock == nil ? ContinuousClock.now + limit : nil
        // The drain itself cannot be interrupted. The stream can: it ends for its reader when the
        // task is cancelled.
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

/// The error of a drain that has reached its limit: a callback is still running, or a deinitialiser
/// blocks.
public struct ObservationDrainError: Error, CustomStringConvertible {
    /// The number of ended observations and replaced values that were not reclaimed in time.
    public let backlog: Int

    /// The time for which the drain waited.
    public let limit: Duration

    public var description: String {
        "ConcurrentObserve: \(backlog) ended observations and replaced values are not reclaimed after \(limit). A callback is still running, or a deinitialiser blocks."
    }
}
#endif
