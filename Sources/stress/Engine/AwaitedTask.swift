// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A task, and its result for a thread that waits for the task.
final class AwaitedTask<Result: Sendable>: Sendable {
    let task: Task<Void, Never>
    private let isDone = DispatchSemaphore(value: 0)
    private let found = Guarded<Result?>(nil)

    init(on executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Result) {
        task = Task.detached(executorPreference: executor) { [isDone, found] in
            let result = await body()
            found.withLock { $0 = result }
            isDone.signal()
        }
    }

    /// Waits for the result. Only one thread may call it, once.
    func result() -> Result {
        isDone.wait()
        return found.withLock { $0.take()! }
    }

    /// Waits for the result, at most ten seconds. Returns nil if it has not come. Only one thread
    /// may call it, once.
    func resultInTime() -> Result? { isDone.waitOrTimeOut() ? found.withLock { $0.take() } : nil }
}
