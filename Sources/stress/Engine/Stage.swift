// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// An actor whose executor belongs to the scenario. The executor shows whether the calling code
/// runs on it, and counts its jobs.
actor Stage {
    nonisolated let executor = StageExecutor()

    /// Safe: the actor keeps its executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Whether the calling thread runs code of this actor.
    nonisolated var isCurrent: Bool { executor.isCurrent }
}

/// Runs jobs on a dispatch queue, one at a time.
final class StageExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "stress.stage")
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    var isCurrent: Bool { queue.getSpecific(key: key) == true && DispatchQueue.getSpecific(key: key) == true }

    /// Waits until no job runs, and runs none before `body` has returned.
    func pause(_ body: () -> Void) {
        queue.sync { queue.suspend() }
        body()
        queue.resume()
    }

    private let enqueued = Atomic<Int>(0)

    /// The number of jobs that the executor was given.
    var jobs: Int { enqueued.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        enqueued.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        // Safe: the block keeps the executor.
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}

/// Runs the tasks that prefer this executor. The thread that resumes such a task calls the
/// executor, and must hold no lock of the library then. (P5)
final class WatchedExecutor: TaskExecutor {
    static let shared = WatchedExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        checkUserCode("executor")
        let job = UnownedJob(job)
        // Safe: the block keeps the executor.
        DispatchQueue.global().async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// An actor with the runtime's own executor.
actor Listener {}

/// A global actor for closures that declare their isolation themselves.
@globalActor
actor GlobalListener {
    static let shared = GlobalListener()
}
