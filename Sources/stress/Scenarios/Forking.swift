// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The process forks again and again while its threads notify and register; each child uses the library, then ends.
    static let forking = Scenario(
        name: "forking",
        summary: "the process forks while threads are in callbacks and register: each child uses old and new objects",
        invariants: [
            "P18.child-goes-on", "P18.child-receives", "P18.child-counts", "P14.nothing-left", "P16.backlog-drains",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["forked while a callback ran", "forked while others registered", "forked while another modified"],
        leastThreads: 5,
        // Its child may start no threads, which the library does on first need.
        unfit: [.thread]
    ) { round in
        // No thread changes it: the child may use it.
        let calm = ObserverRegistry<UInt64>()
        let inside = Atomic<Int>(0)
        let hints = Hints(inside)
        let standing = calm.observe { event in
            hints.enter()
            if event != 0 { spin(nanoseconds: 20_000) }
            hints.leave()
        }
        let busy = ObserverRegistry<UInt64>()
        let modified = Modified()
        let child = Child(calm, standing, modified)
        // What the runtime makes on first use it makes under locks, which a fork may find taken.
        _ = child.usesNewObjects()

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("fork")
                if hints.isInside { worker.hit(0) }
                if hints.registrations > 0 { worker.hit(1) }
                if modified.whileModifying({ child.forkAndWait(worker) }) { worker.hit(2) }
            },
            Round.Role(threads: 1) { worker in
                worker.begin("modify")
                modified.modifyIfAsked()
            },
            Round.Role(threads: round.threads - 4) { worker in
                worker.begin("notify")
                calm.notify(1)
            },
            Round.Role(threads: 2) { worker in
                worker.begin("observe")
                let subject = worker.observe(busy)
                hints.register()
                worker.pass(busy, watching: subject.probe)
                worker.cancelAndWait(subject)
            },
        ])

        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// What goes on at a fork: hints for the windows.
private final class Hints: Sendable {
    private let inside: Atomic<Int>
    private let registered = Atomic<Int>(0)

    init(_ inside: consuming Atomic<Int>) { self.inside = inside }

    // Relaxed, all: hints.
    var isInside: Bool { inside.load(ordering: .relaxed) > 0 }
    var registrations: Int { registered.load(ordering: .relaxed) }
    func enter() { inside.add(1, ordering: .relaxed) }
    func leave() { inside.subtract(1, ordering: .relaxed) }
    func register() { registered.add(1, ordering: .relaxed) }
}

/// A property that a thread is modifying whenever the process forks.
private final class Modified: Sendable {
    let property = Observed<UInt64>(0)
    private let state = Atomic<Int>(State.idle)

    private enum State {
        static var idle: Int { 0 }
        static var isAsked: Int { 1 }
        static var isModifying: Int { 2 }
    }

    /// Runs `body` while another thread is in a `modify` of the property, if that comes there soon.
    ///
    /// - Returns: Whether it has come there.
    func whileModifying(_ body: () -> Void) -> Bool {
        // Acquire and release, here and below: what is done in the body of the modify is done between the two.
        state.store(State.isAsked, ordering: .releasing)
        for _ in 0..<1_000 where state.load(ordering: .acquiring) == State.isAsked { usleep(10) }
        let isModifying = state.load(ordering: .acquiring) == State.isModifying
        body()
        state.store(State.idle, ordering: .releasing)
        return isModifying
    }

    func modifyIfAsked() {
        guard state.load(ordering: .acquiring) == State.isAsked else { return spin(nanoseconds: 10_000) }
        property.modify { _ in
            let isAsked = state.compareExchange(
                expected: State.isAsked,
                desired: State.isModifying,
                ordering: .acquiringAndReleasing
            )
            guard isAsked.exchanged else { return }
            while state.load(ordering: .acquiring) == State.isModifying { usleep(50) }
        }
    }

    /// In the child, where the thread that was modifying does not exist: others may take over its part of the library, but are not
    /// taken for it. False if they cannot observe the property.
    func isObservedByNewThreads() -> Bool {
        guard state.load(ordering: .acquiring) == State.isModifying else { return true }
        let (received, ready) = (Count(), Count())
        concurrently(4) { [property] _ in
            // All at once, so that they take over as many records.
            ready.increment()
            property.observe(options: .initial) { (_: Change<UInt64>) in
                received.increment()
                while ready.value < 4 { sched_yield() }
            }.cancel()
        }
        return received.value == 4
    }
}

/// What a child does, and what the parent makes of it. The child takes no lock of the harness's and prints nothing.
private struct Child {
    private let calm: ObserverRegistry<UInt64>
    private let standing: ObservationToken
    private let modified: Modified

    /// Exit statuses.
    private static let isDeaf: Int32 = 10
    private static let doesNotEnd: Int32 = 11
    private static let miscounts: Int32 = 12

    init(_ calm: ObserverRegistry<UInt64>, _ standing: ObservationToken, _ modified: Modified) {
        (self.calm, self.standing, self.modified) = (calm, standing, modified)
    }

    func forkAndWait(_ worker: Worker) {
        // The importer marks the function unavailable. Safe: that is its type.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        let number = fork()
        if number == 0 {
            // A signal ends a child that hangs.
            alarm(ForkedChild.patience)
            _exit(live())
        }
        guard number > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
        var status: Int32 = 0
        while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
        let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
        ForkedChild.noteIfHung(signal)
        worker.check(
            signal == 0 && code != Self.doesNotEnd,
            "P18.child-goes-on",
            signal == SIGALRM ? "the child hangs" : "the child ended with signal \(signal), status \(code)"
        )
        worker.check(
            signal != 0 || code != Self.miscounts,
            "P18.child-counts",
            "in the child more is reclaimed than was retired, or less"
        )
        worker.check(
            signal != 0 || code == 0 || code == Self.doesNotEnd || code == Self.miscounts,
            "P18.child-receives",
            "the child ended with status \(code)"
        )
    }

    /// In the child: observers that other threads were calling at the fork are released, and everything works.
    private func live() -> Int32 {
        // Another thread may have been in its callback: that thread does not exist here.
        guard standing.cancelAndWaitBlocking() == .finished, !standing.isActive else { return Self.doesNotEnd }
        guard usesNewObjects(), modified.isObservedByNewThreads() else { return Self.isDeaf }
        guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished else {
            return Self.doesNotEnd
        }
        return ConcurrentObserveDiagnostics.current().backlog == 0 ? 0 : Self.miscounts
    }

    func usesNewObjects() -> Bool {
        let count = Count()
        let (registry, property) = (ObserverRegistry<UInt64>(), Observed<UInt64>(0))
        let tokens =
            (0..<4).map { _ in registry.observe { _ in count.increment() } }
            + [property.observe { (_: Change<UInt64>) in count.increment() }]
        registry.notify(0)
        property.value = 1
        for token in tokens { token.cancelAndWaitBlocking() }
        registry.notify(0)
        property.value = 2
        return count.value == 5
    }
}

private final class Count: Sendable {
    private let count = Atomic<Int>(0)

    func increment() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}
