// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// The system has no thread to give for a moment, in which an observation ends and threads
    /// begin to wait for it, or values are replaced.
    static let threadFamine = Scenario(
        name: "thread-famine",
        summary:
            "for a moment the system starts no thread: waits then end after it, and values replaced then are destroyed, in a process of its own each time",
        invariants: ["P9.famine-ends", "P14.after-a-famine"],
        windows: ["waited during a famine"]
    ) { round in
        round.load { worker in
            worker.begin("famine")
            let kind = Famine.Kind.allCases[worker.generator.below(Famine.Kind.allCases.count)]
            var arguments = ["famine", kind.rawValue]
            #if INSTRUMENTED
            if let bug = unsafe Instrumentation.mutant { arguments += ["--mutant", bug.rawValue] }
            #endif
            let end = ChildProcess.spawn(arguments)
            let invariant: StaticString = kind.isWait ? "P9.famine-ends" : "P14.after-a-famine"
            worker.check(end == .succeeded, invariant, "the process of a famine with \(kind) has \(end)")
            worker.hit(0)
        }
    }
}

/// A famine in a process in which the library has no thread yet.
struct Famine {
    enum Kind: String, CaseIterable {
        case secondWait, drain, replacedObject, replacedArray

        fileprivate var isWait: Bool { self == .secondWait || self == .drain }
    }

    let kind: Kind

    /// Whether what happens in the famine comes right after it.
    var endsWell: Bool {
        switch kind {
        case .secondWait, .drain: waits()
        case .replacedObject: replaces { Fallen() }
        case .replacedArray: replaces { [1] }
        }
    }

    private func waits() -> Bool {
        // The waiting thread has a stack of its own size, and so is no part of the famine; it must
        // exist before.
        let begun = Semaphore()
        let registry = ObserverRegistry<UInt64>()
        // Made when the famine has begun: the first observation asks for a thread.
        let observation = Guarded<ObservationToken?>(nil)
        let kind = kind
        let waiter = JoinableThread {
            begun.wait()
            if kind == .drain {
                ConcurrentObserveDiagnostics.drain()
            } else {
                observation.withLock { $0 }?.cancelAndWaitBlocking()
            }
        }
        withoutThreads {
            let token = registry.observe { _ in }
            observation.withLock { $0 = token }
            token.cancel()
            begun.signal()
            usleep(3_000)
        }
        waiter.join()
        // The closure is destroyed before it is counted.
        return ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished
    }

    /// Replaces a value in the famine, and one after it.
    private func replaces<Value: Sendable>(_ make: () -> Value) -> Bool {
        let before = ConcurrentObserveDiagnostics.current()
        let property = Observed(make())
        withoutThreads { property.value = make() }
        property.value = make()
        var areReleased: Bool {
            let now = ConcurrentObserveDiagnostics.current()
            return now.retired >= before.retired + 2 && now.backlog == 0
        }
        for _ in 0..<3_000 where !areReleased { usleep(1_000) }
        return areReleased
    }

    /// Runs `body` while the system has no thread to give.
    private func withoutThreads(_ body: () -> Void) {
        var before = pthread_attr_t()
        var famine = pthread_attr_t()
        unsafe defaultAttributes("pthread_getattr_default_np", &before)
        unsafe pthread_attr_init(&famine)
        // More than there is address space.
        unsafe pthread_attr_setstacksize(&famine, 1 << 47)
        unsafe defaultAttributes("pthread_setattr_default_np", &famine)
        body()
        unsafe defaultAttributes("pthread_setattr_default_np", &before)
    }

    /// Reads or writes what new threads have by default.
    private func defaultAttributes(_ name: String, _ attributes: UnsafeMutablePointer<pthread_attr_t>) {
        typealias Access = @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32
        // Safe: that is the functions' type; looked up because the importer does not see GNU's own.
        _ = unsafe unsafeBitCast(dlsym(nil, name), to: Access.self)(attributes)
    }
}

private final class Fallen: Sendable {}
