// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// The system can start no thread for a moment. In this moment an observation ends and threads
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

/// A moment without new threads, in a process in which the library has no thread yet.
struct Famine {
    enum Kind: String, CaseIterable {
        case secondWait, drain, replacedObject, replacedArray

        fileprivate var isWait: Bool { self == .secondWait || self == .drain }
    }

    let kind: Kind

    /// Whether the work that begins in this moment is finished after it.
    var endsWell: Bool {
        switch kind {
        case .secondWait, .drain: waits()
        case .replacedObject: replaces { Fallen() }
        case .replacedArray: replaces { [1] }
        }
    }

    private func waits() -> Bool {
        // The waiting thread has a stack of its own size, so the famine does not affect it. It must
        // exist before.
        let begun = Semaphore()
        let registry = ObserverRegistry<UInt64>()
        // Made when the famine has begun, because the first observation asks for a thread.
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

    /// Replaces a value during the famine, and another one after it. Returns whether both are
    /// released.
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

    /// Runs `body` while the system can start no thread.
    private func withoutThreads(_ body: () -> Void) {
        var before = pthread_attr_t()
        var famine = pthread_attr_t()
        unsafe defaultAttributes("pthread_getattr_default_np", &before)
        unsafe pthread_attr_init(&famine)
        // More than the address space.
        unsafe pthread_attr_setstacksize(&famine, 1 << 47)
        unsafe defaultAttributes("pthread_setattr_default_np", &famine)
        body()
        unsafe defaultAttributes("pthread_setattr_default_np", &before)
    }

    /// Reads or writes the default attributes of new threads.
    private func defaultAttributes(_ name: String, _ attributes: UnsafeMutablePointer<pthread_attr_t>) {
        typealias Access = @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32
        // Safe: the functions have this type. They are looked up because the importer does not see
        // GNU's own functions.
        _ = unsafe unsafeBitCast(dlsym(nil, name), to: Access.self)(attributes)
    }
}

private final class Fallen: Sendable {}
