// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// A thread that runs a body again and again until it is stopped.
final class BusyThread: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let left = DispatchSemaphore(value: 0)

    /// Starts the thread, and returns when it has begun.
    init(_ body: @escaping @Sendable () -> Void) {
        let entered = DispatchSemaphore(value: 0)
        DispatchQueue(label: "busy").async { [self] in
            entered.signal()
            // Relaxed: one more run of the body does no harm.
            while !isOver.load(ordering: .relaxed) { body() }
            left.signal()
        }
        entered.wait()
    }

    /// Returns when the thread has ended.
    func stop() {
        isOver.store(true, ordering: .relaxed)
        left.wait()
    }
}
