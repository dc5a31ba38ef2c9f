// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The process forks while threads have sources of their own, which the optimiser puts on their stacks; it also forks inside
    /// deinitialisers that threads of the library run.
    static let forkingSources = Scenario(
        name: "forking-sources",
        summary:
            "the process forks, also inside deinitialisers, while threads have sources on their stacks: no child changes a stack",
        invariants: [
            "P18.child-stacks", "P18.child-goes-on", "P18.child-finishes", "P14.nothing-left", "P16.backlog-drains",
            "memory.table-in-use",
        ],
        windows: ["forked beside sources", "forked inside a deinitialiser"],
        leastThreads: 3,
        // Under ThreadSanitizer its child may start no threads; under AddressSanitizer stacks have another layout, and a fork copies
        // the shadow of all memory.
        unfit: [.thread, .address]
    ) { round in
        // What the runtime makes on first use it makes under locks, which a fork may find taken.
        _ = fillStack(Depth.ofSources) { useSourceOnStack() }
        let stacks = round.threads

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("fork")
                let isInDeinit = worker.generator.oneIn(4)
                check(isInDeinit ? forkInDeinit() : forkBesideSources(stacks), worker)
                worker.hit(isInDeinit ? 1 : 0)
            },
            Round.Role(threads: round.threads - 1) { worker in
                worker.begin("source")
                _ = fillStack(Depth.ofSources) { useSourceOnStack() }
            },
        ])
        round.checkRest()
    }
}

/// How the children end.
private enum Status {
    static let hasChangedStack: Int32 = 10
    static let doesNotEnd: Int32 = 11
    static let endsEarly: Int32 = 12
}

private func check(_ status: Int32, _ worker: Worker) {
    let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
    ForkedChild.noteIfHung(signal)
    worker.check(
        signal != 0 || code != Status.hasChangedStack,
        "P18.child-stacks",
        "the child's reclamation has changed the stack of a thread"
    )
    worker.check(
        signal != 0 || code != Status.endsEarly,
        "P18.child-finishes",
        "in the child an end was delivered before the deinitialiser that forked had returned, or never"
    )
    worker.check(
        status == 0 || signal == 0 && [Status.hasChangedStack, Status.endsEarly].contains(code),
        "P18.child-goes-on",
        signal == SIGALRM ? "the child hangs" : "the child ended with signal \(signal), status \(code)"
    )
}

private func fork() -> pid_t {
    // The importer marks the function unavailable. Safe: that is its type.
    let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
    let number = fork()
    // A child that hangs is ended by a signal, which the library's threads block.
    if number == 0 {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        signal(SIGALRM, SIG_DFL)
        alarm(10)
    }
    guard number >= 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
    return number
}

private func status(of child: pid_t) -> Int32 {
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
    return status
}

// MARK: - Sources on stacks

private enum Depth {
    /// Where threads of the parent have their sources, in levels of `fillStack`: below what any thread has on its stack when it begins.
    static let ofSources = 4
    /// How deep the child's threads look.
    static let ofLooks = 12
}

/// Has a source that never leaves the function, and ends its observations a moment before the source ends: they are untidy for that long.
@inline(never)
private func useSourceOnStack() {
    let property = Observed<UInt64>(0)
    for _ in 0..<9 { property.observe { (_: Change<UInt64>) in }.cancel() }
    spin(nanoseconds: 300_000)
    property.value = 1
}

/// Runs `body` below so many kilobytes of the calling thread's stack.
///
/// - Returns: Whether these are unchanged afterwards.
@inline(never)
private func fillStack(_ levels: Int, _ body: () -> Void) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: timespec.self, capacity: 63) { words in
        let pattern = timespec(tv_sec: 0x5A5A_5A5A, tv_nsec: 0x1234_5678)
        // For the optimiser: others may know the memory. Safe: there is room for one.
        unsafe clock_gettime(CLOCK_MONOTONIC, words.baseAddress!)
        unsafe words.initialize(repeating: pattern)
        let isUnchangedBelow = if levels > 0 { fillStack(levels - 1, body) } else { true }
        if levels == 0 { body() }
        return unsafe words.allSatisfy { $0.tv_sec == pattern.tv_sec && $0.tv_nsec == pattern.tv_nsec }
            && isUnchangedBelow
    }
}

/// Forks on a new thread, which has not used the library; new threads of the child, which get the stacks of the parent's, look at them
/// while the child reclaims what the parent has retired.
///
/// - Returns: The child's status.
private func forkBesideSources(_ stacks: Int) -> Int32 {
    let result = Count()
    concurrently(1) { _ in
        let child = fork()
        if child == 0 { lookAtStacks(stacks) }
        result.add(Int(status(of: child)))
    }
    return Int32(result.value)
}

private func lookAtStacks(_ stacks: Int) -> Never {
    let (ready, done, changed) = (Count(), Count(), Count())
    let threads = (0..<stacks * 2).map { _ in
        Thread {
            let isUnchanged = fillStack(Depth.ofLooks) {
                ready.increment()
                while done.value == 0 { usleep(100) }
            }
            if !isUnchanged { changed.increment() }
        }
    }
    while ready.value < threads.count { usleep(50) }
    let outcome = ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(8))
    done.increment()
    for thread in threads { thread.join() }
    _exit(changed.value > 0 ? Status.hasChangedStack : outcome == .finished ? 0 : Status.doesNotEnd)
}

// MARK: - Forks inside deinitialisers

/// Forks inside the deinitialiser of a capture, on a thread of the library.
///
/// - Returns: The child's status.
private func forkInDeinit() -> Int32 {
    let registry = ObserverRegistry<UInt64>()
    let fork = DeinitFork()
    plant(fork, in: registry)
    fork.token.withLock { $0! }.cancel()
    while fork.result.value == 0 { usleep(100) }
    return Int32(fork.result.value - 1)
}

/// Not inlined, and without the cancellation: when it returns, the closure has the only reference to the capture, which so dies on a
/// thread of the library, before the observation is finished.
@inline(never)
private func plant(_ fork: DeinitFork, in registry: ObserverRegistry<UInt64>) {
    let forker = Forker(fork)
    let token = registry.observe { _ in withExtendedLifetime(forker) {} }
    token.onEnd { _ in fork.ends.increment() }
    fork.token.withLock { $0 = token }
}

/// What a fork inside a deinitialiser is about.
private final class DeinitFork: Sendable {
    /// The thread that ends the observation.
    let canceller = pthread_self()
    let token = Guarded<ObservationToken?>(nil)
    let ends = Count()
    let hasReturned = Count()
    /// The child's status and one, once it has ended.
    let result = Count()

    /// In the child: the wait for the deinitialiser, which is running, and for what follows it.
    func waitForEnd(_ token: ObservationToken) -> Never {
        guard token.cancelAndWaitBlocking() == .finished else { _exit(Status.doesNotEnd) }
        guard hasReturned.value == 1 else { _exit(Status.endsEarly) }
        guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(8)) == .finished else {
            _exit(Status.doesNotEnd)
        }
        _exit(ends.value == 1 ? 0 : Status.endsEarly)
    }
}

/// Forks when it dies; the child goes on in the deinitialiser, and beyond.
private final class Forker: Sendable {
    private let about: DeinitFork

    init(_ about: DeinitFork) { self.about = about }

    deinit {
        if pthread_self() == about.canceller {
            harnessFailure("the capture died on the thread that had ended the observation, which kept a reference")
        }
        let child = fork()
        if child == 0 {
            let (about, token) = (about, about.token.withLock { $0! })
            _ = Thread { about.waitForEnd(token) }
            usleep(1_000)
            about.hasReturned.increment()
        } else {
            about.result.add(Int(status(of: child)) + 1)
        }
    }
}

private final class Count: Sendable {
    private let count = Atomic<Int>(0)

    // Acquire and release, all: what one thread did before is seen by the one that sees the count.
    @discardableResult
    func increment() -> Int { count.add(1, ordering: .acquiringAndReleasing).newValue }
    func add(_ number: Int) { count.add(number, ordering: .acquiringAndReleasing) }
    var value: Int { count.load(ordering: .acquiring) }
}
