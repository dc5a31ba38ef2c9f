// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The process forks as fast as it can while threads start, read and exit; each child reads on its old and on a new thread.
    static let forkingThreads = Scenario(
        name: "forking-threads",
        summary:
            "the process forks while threads start, read a property and exit: each child reads on its thread and on a new one",
        invariants: ["P18.child-goes-on", "P14.nothing-left", "P16.backlog-drains", "memory.table-in-use"],
        windows: ["10 forks", "10 threads came and went"],
        leastThreads: 3,
        // Under ThreadSanitizer its child may start no threads; under AddressSanitizer a fork copies the shadow of all memory, and
        // there are too few of them.
        unfit: [.thread, .address]
    ) { round in
        // On the heap: a thread that reads it is registered with liburcu.
        let property = Observed<[UInt64]>([1, 2, 3])
        let (forks, threads) = (Tally(), Tally())
        concurrently(2) { _ in _ = property.value }

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("fork")
                let status = readInChild(property)
                ForkedChild.noteIfHung(status & 0x7F)
                worker.check(
                    status == 0,
                    "P18.child-goes-on",
                    status & 0x7F == SIGALRM ? "the child hangs" : "the child ended with status \(status)"
                )
                if forks.increment() >= 10 { worker.hit(0) }
            },
            Round.Role(threads: round.threads - 1) { worker in
                worker.begin("thread")
                concurrently(1) { _ in _ = property.value }
                if threads.increment() >= 10 { worker.hit(1) }
            },
        ])
        round.checkRest()
    }
}

/// Forks; the child reads on its own thread and on one that it starts.
///
/// - Returns: The child's status, as `waitpid` has it.
private func readInChild(_ property: Observed<[UInt64]>) -> Int32 {
    // The importer marks the function unavailable. Safe: that is its type.
    let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
    let number = fork()
    if number == 0 {
        // A child that hangs is ended by a signal.
        alarm(ForkedChild.patience)
        let received = Tally()
        concurrently(1) { _ in if property.value.count == 3 { _ = received.increment() } }
        _exit(property.value.count == 3 && received.value == 1 ? 0 : 1)
    }
    guard number > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
    var status: Int32 = 0
    while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
    return status
}

private final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    // Relaxed, both: statistics, or read behind a join.
    func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .relaxed) }
}
