// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// An actor that a test may block or suspend. Its jobs run on a dispatch queue, and use no thread
/// of the cooperative pool.
actor Listener {
    private let executor = QueueExecutor()
    private let life: Life?

    /// Makes a listener.
    ///
    /// - Parameter life: Dies with the actor.
    init(life: Life? = nil) { self.life = life }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // Safe: the actor keeps its executor, and a thread that runs a job keeps the actor.
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Begins no job until `resume()`.
    nonisolated func suspend() { executor.queue.suspend() }

    nonisolated func resume() { executor.queue.resume() }

    /// Runs `body` on the actor and waits for it.
    nonisolated func perform(_ body: @escaping @Sendable (isolated Listener) -> Void) throws {
        let done = Signal("a job of an actor")
        Task.detached {
            await self.run(body)
            done.happen()
        }
        try done.wait()
    }

    private func run(_ body: @Sendable (isolated Listener) -> Void) { body(self) }

    /// Returns a closure that is isolated to this actor, and declares it.
    func isolating<Value: Sendable>(
        _ body: @escaping @Sendable (Value) -> Void
    ) -> @isolated(any) @Sendable (Value) -> Void {
        carrying { value in
            self.preconditionIsolated()
            body(value)
        }
    }

    private final class QueueExecutor: SerialExecutor {
        let queue = DispatchQueue(label: "a listener")

        func enqueue(_ job: consuming ExecutorJob) {
            // Safe: each job is run once; the block keeps the executor.
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }
}

/// Returns the closure unchanged, with the isolation of the place where it is written.
private func carrying<Value: Sendable>(
    @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Value) -> Void
) -> @isolated(any) @Sendable (Value) -> Void { body }
