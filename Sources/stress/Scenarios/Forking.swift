// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The process forks again and again while its threads notify and register; each child uses the library, then ends.
    static let forking = Scenario(
        name: "forking",
        summary: "the process forks while threads are in callbacks and register: each child uses old and new objects",
        invariants: [
            "P18.child-goes-on", "P18.child-hears", "P14.nothing-left", "P16.backlog-drains",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["forked while a callback ran", "forked while others registered"],
        leastThreads: 4,
        // Its child may start no threads, which the library does on first need.
        unfit: [.thread]
    ) { epoch in
        // Nobody changes it: the child may use it.
        let calm = ObserverRegistry<UInt64>()
        let inside = Atomic<Int>(0)
        let hints = Hints(inside)
        let standing = calm.observe { event in
            hints.enter()
            if event != 0 { spin(nanoseconds: 20_000) }
            hints.leave()
        }
        let busy = ObserverRegistry<UInt64>()
        let child = Child(calm, standing)
        // What the runtime makes on first use it makes under locks, which a fork may find taken.
        _ = child.usesNewObjects()

        epoch.load([
            Epoch.Role(threads: 1) { lane in
                lane.begin("fork")
                if hints.isInside { lane.hit(0) }
                if hints.registrations > 0 { lane.hit(1) }
                child.forkAndWait(lane)
            },
            Epoch.Role(threads: epoch.threads - 3) { lane in
                lane.begin("notify")
                calm.notify(1)
            },
            Epoch.Role(threads: 2) { lane in
                lane.begin("observe")
                let subject = lane.observe(busy)
                hints.register()
                lane.pass(busy, watching: subject.probe)
                lane.cancelAndWait(subject)
            },
        ])

        standing.cancelAndWaitBlocking()
        epoch.checkRest()
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

/// What a child does, and what the parent makes of it. The child takes no lock of the harness's and prints nothing.
private struct Child {
    private let calm: ObserverRegistry<UInt64>
    private let standing: ObservationToken

    /// Exit statuses.
    private static let isDeaf: Int32 = 10
    private static let doesNotEnd: Int32 = 11

    init(_ calm: ObserverRegistry<UInt64>, _ standing: ObservationToken) {
        (self.calm, self.standing) = (calm, standing)
    }

    func forkAndWait(_ lane: Lane) {
        // The importer marks the function unavailable. Safe: that is its type.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        let number = fork()
        if number == 0 {
            // Who hangs is ended by a signal.
            alarm(UInt32(10 * min(Sanitizer.slowdown, 6)))
            _exit(live())
        }
        guard number > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
        var status: Int32 = 0
        while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
        let (signal, code) = (status & 0x7F, status >> 8 & 0xFF)
        lane.check(
            signal == 0 && code != Self.doesNotEnd,
            "P18.child-goes-on",
            signal == SIGALRM ? "the child hangs" : "the child ended with signal \(signal), status \(code)"
        )
        lane.check(
            signal != 0 || code == 0 || code == Self.doesNotEnd,
            "P18.child-hears",
            "the child ended with status \(code)"
        )
    }

    /// In the child: what other threads were calling at the fork is let go, and all works.
    private func live() -> Int32 {
        // Another thread may have been in its callback: that thread does not exist here.
        guard standing.cancelAndWaitBlocking() == .finished, !standing.isActive else { return Self.doesNotEnd }
        guard usesNewObjects() else { return Self.isDeaf }
        return ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished ? 0 : Self.doesNotEnd
    }

    func usesNewObjects() -> Bool {
        let heard = Atomic<Int>(0)
        let count = Count(heard)
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
    private let count: Atomic<Int>

    init(_ count: consuming Atomic<Int>) { self.count = count }

    func increment() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}
