// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P18 Fork and exit")
    struct P18ForkTests {}
}

// MARK: - fork

/// What a child does with the library: everything, with new objects. True if all of it worked.
private func useEverything() -> Bool {
    let registry = ObserverRegistry<Int>()
    let (deaths, ended, calls) = (Counter(), Counter(), Counter())
    for _ in 0..<20 {
        let token = observeWithCapture(registry, deaths, calls)
        token.onEnd { _ in ended.increment() }
        registry.notify(1)
        token.cancel()
    }
    let token = registry.observe { _ in calls.increment() }
    registry.notify(1)
    guard token.cancelAndWaitBlocking() == .finished, calls.value == 21 else { return false }
    guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished else { return false }
    return registry.observationCount == 0 && deaths.value == 20 && ended.value == 20
}

/// Observes with a closure that does something when it is destroyed.
private func observeUntilDeath(
    _ registry: ObserverRegistry<Int>,
    _ atDeath: @escaping @Sendable () -> Void
) -> ObservationToken {
    let dying = Dying(atDeath)
    return registry.observe { _ in withExtendedLifetime(dying) {} }
}

/// An object that does something when it dies.
private final class Dying: Sendable {
    private let atDeath: @Sendable () -> Void

    init(_ atDeath: @escaping @Sendable () -> Void) { self.atDeath = atDeath }

    deinit { atDeath() }
}

private func observeWithCapture(
    _ registry: ObserverRegistry<Int>,
    _ deaths: Counter,
    _ calls: Counter
) -> ObservationToken {
    let mortal = Mortal(deaths)
    return registry.observe { _ in
        mortal.touch()
        calls.increment()
    }
}

extension Promises.P18ForkTests {
    @Test("P18 The child of a process at rest uses the library, and the parent goes on")
    func atRest() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            check(inChild(useEverything) == 0, "the child")
            check(useEverything(), "after the fork")
        }
    }

    @Test("P18 The child of a process that has never used the library uses it")
    func beforeFirstUse() async {
        await #expect(processExitsWith: .success) {
            check(inChild(useEverything) == 0, "the child")
            check(useEverything(), "after the fork")
        }
    }

    @Test("P18 A child may fork again")
    func grandchild() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let status = inChild { useEverything() && inChild(useEverything) == 0 && useEverything() }
            check(status == 0, "the child or its child: \(status)")
        }
    }

    @Test("P18 A fork inside a callback: both processes finish the pass and go on")
    func insideACallback() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let registry = ObserverRegistry<Int>()
            let child = Slot<pid_t>()
            let calls = Counter()
            let tokens = [
                registry.observe { _ in child.put(Process.fork()) },
                registry.observe { _ in calls.increment() },
            ]
            Process.limitLife(seconds: 30)
            registry.notify(1)
            let isFine = calls.value == 1 && waitsForTheEnd(of: tokens[0]) && useEverything()
            guard let number = child.value, number != 0 else { _exit(isFine ? 0 : 1) }
            check(isFine, "the parent")
            let status = Process.status(of: number)
            check(status == 0, "the child: \(status)")
        }
    }

    @Test("P18 A fork inside a deinitialiser on a thread of the library: both processes finish it, and go on")
    func insideADeinitialiser() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let registry = ObserverRegistry<Int>()
            let (token, status) = (Slot<ObservationToken>(), Slot<Int>())
            let (isOver, ends) = (Flag(), Counter())
            token.put(
                observeUntilDeath(registry) {
                    let child = Process.fork()
                    guard child == 0 else { return status.put(Process.status(of: child)) }
                    Process.limitLife(seconds: 15)
                    // The child's first thread is in the deinitialiser: a wait for its end is not over before.
                    _ = TestThread {
                        guard waitsForTheEnd(of: token.value!), isOver.isSet else { _exit(2) }
                        _exit(useEverything() && ends.value == 1 ? 0 : 3)
                    }
                    briefPause()
                    isOver.set()
                }
            )
            token.value!.onEnd { _ in ends.increment() }
            token.value!.cancel()
            try eventually("the deinitialiser's fork") { status.value != nil }
            check(status.value == 0, "the child: \(status.value ?? -1)")
            check(waitsForTheEnd(of: token.value!) && useEverything() && ends.value == 1, "the parent")
        }
    }

    @Test("P18 A deinitialiser on a thread of the library may start other programs")
    func spawnInADeinitialiser() async {
        await #expect(processExitsWith: .success) {
            let registry = ObserverRegistry<Int>()
            let statuses = Slot<[Int]>()
            observeUntilDeath(registry) {
                var child = pid_t()
                // Safe: the path is a literal; a program without arguments receives no name.
                let error = unsafe posix_spawn(&child, "/bin/true", nil, nil, [nil], nil)
                statuses.put([Int(error), Process.status(of: child), Int(unsafe system("exit 3") >> 8)])
            }.cancel()
            try eventually("the deinitialiser's programs") { statuses.value != nil }
            check(statuses.value == [0, 0, 3], "\(statuses.value ?? [])")
        }
    }

    @Test("P18 What another thread's callback held in the parent is free in the child")
    func foreignFrames() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let registry = ObserverRegistry<Int>()
            let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
            let token = registry.observe { event in
                guard event == 0 else { return }
                entered.happen()
                exit.hold()
            }
            let notifier = TestThread { registry.notify(0) }
            try entered.wait()
            // The child: no thread of it runs the callback; it neither blocks the wait nor the drain.
            let status = inChild { token.cancelAndWaitBlocking() == .finished && useEverything() }
            check(status == 0, "the child: \(status)")
            check(token.isActive, "the child has changed the parent")
            exit.happen()
            try notifier.join()
            check(waitsForTheEnd(of: token), "the parent's wait")
            check(useEverything(), "after the fork")
        }
    }

    @Test("P18 What was cancelled just before the fork is destroyed in the child too, once, and waits for it end")
    func cancelledBefore() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let registry = ObserverRegistry<Int>()
            for round in 0..<50 {
                let lives = Lives()
                let life = Slot(lives.make())
                let token = registry.observe { [life = life.take()] _ in life?.touch() }
                token.cancel()
                let status = inChild {
                    // Destroyed here, or, if the fork came in the middle of it, left as it was: the wait ends.
                    waitsForTheEnd(of: token) && useEverything()
                }
                check(status == 0, "the child of round \(round): \(status)")
                check(waitsForTheEnd(of: token) && lives.alive == 0, "the parent in round \(round)")
            }
        }
    }

    @Test("P18 Threads of the child meet at one registry")
    func threadsOfTheChild() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let status = inChild {
                let registry = ObserverRegistry<Int>()
                let churn: @Sendable () -> Void = { for _ in 0..<100_000 { registry.observe { _ in }.cancel() } }
                let other = TestThread(churn)
                churn()
                return (try? other.join()) != nil && registry.observationCount == 0
            }
            check(status == 0, "the child: \(status)")
        }
    }

    @Test("P18 Forking again and again while a registry's first owner-bound observation comes and goes")
    func lockOrder() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let registry = ObserverRegistry<Int>()
            let owner = Lives().make()
            let hammer = Hammer(threads: 1) { registry.observe(owner: owner) { _, _ in }.cancel() }
            try hammer.waitUntilWarm()
            for _ in 0..<1_000 { check(inChild { true } == 0, "a child") }
            try hammer.stop()
        }
    }

    /// What other threads of the parent do while it forks.
    enum Work: String, CaseIterable, Sendable {
        case churn, owners, sources, waits
    }

    @Test("P18 Forked while other threads are at work, the child uses new objects, cancels and drains")
    func underChurn() async {
        await #expect(processExitsWith: .success) { try forkUnderLoad(.churn) }
    }

    @Test("P18 Forked while other threads register for owners, the child uses new objects, cancels and drains")
    func underOwners() async {
        await #expect(processExitsWith: .success) { try forkUnderLoad(.owners) }
    }

    @Test("P18 Forked while other threads' sources die, the child uses new objects, cancels and drains")
    func underSources() async {
        await #expect(processExitsWith: .success) { try forkUnderLoad(.sources) }
    }

    @Test("P18 Forked while other threads wait for ends, the child uses new objects, cancels and drains")
    func underWaits() async {
        await #expect(processExitsWith: .success) { try forkUnderLoad(.waits) }
    }
}

private func forkUnderLoad(_ work: Promises.P18ForkTests.Work) throws {
    check(useEverything(), "before the fork")
    let shared = ObserverRegistry<Int>()
    let owner = Lives().make()
    let constant = shared.observe { _ in }
    let hammer = Hammer(threads: 3) {
        switch work {
        case .churn:
            let token = shared.observe { _ in }
            shared.notify(1)
            token.cancel()
        case .owners:
            shared.observe(owner: owner) { _, _ in }.cancel()
            shared.observe(owner: Lives().make()) { _, _ in }.cancel()
            _ = shared.observationCount
        case .sources:
            let source = ObserverRegistry<Int>()
            let tokens = [source.observe { _ in }, source.observe { _ in }]
            tokens[0].onEnd { _ in }
            tokens[1].cancel()
        case .waits:
            shared.observe { _ in }.cancelAndWaitBlocking()
        }
    }
    try hammer.waitUntilWarm()
    for round in 0..<15 {
        let status = inChild(useEverything)
        check(status == 0, "the child of round \(round): \(status)")
    }
    try hammer.stop()
    check(constant.isActive, "a child has changed the parent")
    check(useEverything(), "after the forks")
}

// MARK: - Exit

extension Promises.P18ForkTests {
    @Test("P18 A process exits cleanly while callbacks, cancellations and destructions are going on")
    func exitDuringWork() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let registry = ObserverRegistry<Int>()
            let lives = Lives()
            let hammer = Hammer(threads: 3) {
                let life = lives.make()
                let token = registry.observe { _ in life.touch() }
                registry.notify(1)
                token.cancel()
            }
            try hammer.waitUntilWarm()
            exit(7)
        }
    }

    @Test("P18 A process may use the library while it exits")
    func useDuringExit() async {
        await #expect(processExitsWith: .exitCode(7)) {
            check(useEverything(), "before the exit")
            atexit { if !useEverything() { _exit(1) } }
            exit(7)
        }
    }
}
