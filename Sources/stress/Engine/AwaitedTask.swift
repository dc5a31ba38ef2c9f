// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A task, and its result for a thread that waits for it.
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

    /// Waits for the result. One thread, once.
    func result() -> Result {
        isDone.wait()
        return found.withLock { $0.take()! }
    }

    /// Waits for the result, ten seconds at most. One thread, once.
    func resultInTime() -> Result? { isDone.waitOrTimeOut() ? found.withLock { $0.take() } : nil }
}
