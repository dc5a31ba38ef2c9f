// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObservePlatform

/// A state that tasks wait for.
///
/// An update decides under the lock which waits are over, and resumes these tasks after it has
/// released the lock. Therefore an inline callback may make an update.
final class Awaited<State>: @unchecked Sendable {
    // Unchecked: `state` and `waiters` are guarded by `lock`.
    private let lock = Lock()
    private var state: State
    private var waiters: [Int: Waiter] = [:]
    private var lastNumber = 0

    private struct Waiter {
        let isOver: (State) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    init(_ state: State) { self.state = state }

    /// Calls `body` under the lock. `body` must not run user code, or destroy values of the user's.
    func update<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, resumed) = lock.withLock { () -> (Result, [Waiter]) in
            let result = body(&state)
            let over = waiters.filter { $0.value.isOver(state) }
            for number in over.keys { waiters[number] = nil }
            return (result, Array(over.values))
        }
        for waiter in resumed { waiter.continuation.resume(returning: true) }
        return result
    }

    /// Suspends until `isOver` accepts the state, or until `limit` has passed.
    ///
    /// - Returns: Whether `isOver` accepted the state. The state may have changed since.
    /// - Throws: `CancellationError` if the task is cancelled.
    @discardableResult
    func wait(
        _ limit: Duration,
        _ clock: some Clock<Duration>,
        until isOver: @escaping @Sendable (State) -> Bool
    ) async throws -> Bool {
        if update({ isOver($0) }) { return true }
        let isAccepted = await withTaskGroup { group in
            group.addTask { await self.suspend(until: isOver) }
            group.addTask {
                try? await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next()!
        }
        try Task.checkCancellation()
        return isAccepted
    }

    /// Suspends until `isOver` accepts the state.
    ///
    /// - Returns: False if the task was cancelled first.
    private func suspend(until isOver: @escaping @Sendable (State) -> Bool) async -> Bool {
        let number = update { _ in
            lastNumber += 1
            return lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Bool? = lock.withLock {
                    if isOver(state) { return true }
                    // A later cancellation finds the waiter, because it needs the lock.
                    if Task.isCancelled { return false }
                    waiters[number] = Waiter(isOver: isOver, continuation: continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            lock.withLock { waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
    }
}
