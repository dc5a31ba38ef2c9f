// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The system has no thread to give for a moment, in which an observation ends and threads
    /// begin to wait for it.
    static let threadFamine = Scenario(
        name: "thread-famine",
        summary:
            "for a moment the system starts no thread: a thread that waits then waits no longer than that, in a forked child each time",
        invariants: ["P9.famine-ends", "P14.nothing-left", "P16.backlog-drains", "memory.table-in-use"],
        windows: ["waited during a famine"],
        // Its child may start no threads, which the library does on first need.
        unfit: [.thread]
    ) { round in
        round.load { worker in
            worker.begin("fork")
            let kind = FamineChild.Kind.allCases[worker.generator.below(2)]
            FamineChild(kind: kind).forkAndWait(worker)
            worker.hit(0)
        }
        round.checkRest()
    }
}

/// A process in which the library has no thread yet, and gets none at first. It takes no lock of
/// the harness's and prints nothing.
private struct FamineChild {
    enum Kind: CaseIterable {
        case secondWait, drain
    }

    let kind: Kind

    func forkAndWait(_ worker: Worker) {
        // The importer marks the function unavailable. Safe: that is its type.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        let number = fork()
        if number == 0 {
            // A child that hangs is ended by a signal.
            alarm(UInt32(5 * min(Sanitizer.slowdown, 6)))
            _exit(live() ? 0 : 1)
        }
        guard number > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
        var status: Int32 = 0
        while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
        worker.check(
            status == 0,
            "P9.famine-ends",
            status & 0x7F == SIGALRM
                ? "a wait (\(kind)) goes on when there are threads again" : "a wait (\(kind)) ended early"
        )
    }

    private func live() -> Bool {
        // The waiting thread has a stack of its own size, and so is no part of the famine; it must
        // exist before.
        let isBegun = Flag()
        let registry = ObserverRegistry<UInt64>()
        // Made when the famine has begun: the first observation asks for a thread.
        let observation = Guarded<ObservationToken?>(nil)
        let kind = kind
        let waiter = Thread {
            isBegun.await()
            switch kind {
            case .secondWait: observation.withLock { $0 }?.cancelAndWaitBlocking()
            case .drain: ConcurrentObserveDiagnostics.drain()
            }
        }
        var before = pthread_attr_t()
        var famine = pthread_attr_t()
        unsafe defaultAttributes("pthread_getattr_default_np", &before)
        unsafe pthread_attr_init(&famine)
        // More than there is address space.
        unsafe pthread_attr_setstacksize(&famine, 1 << 47)
        unsafe defaultAttributes("pthread_setattr_default_np", &famine)
        let token = registry.observe { _ in }
        observation.withLock { $0 = token }
        token.cancel()
        isBegun.set()
        usleep(3_000)
        unsafe defaultAttributes("pthread_setattr_default_np", &before)
        waiter.join()
        // The closure is destroyed before it is counted.
        return ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished
    }

    /// Reads or writes what new threads have by default.
    private func defaultAttributes(_ name: String, _ attributes: UnsafeMutablePointer<pthread_attr_t>) {
        typealias Access = @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32
        // Safe: that is the functions' type; looked up because the importer does not see GNU's own.
        _ = unsafe unsafeBitCast(dlsym(nil, name), to: Access.self)(attributes)
    }
}

private final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)

    // Release and acquire: pair with each other.
    func set() { flag.store(true, ordering: .releasing) }
    func await() { while !flag.load(ordering: .acquiring) { usleep(100) } }
}
