// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P18 Fork and exit")
    struct P18ForkTests {}
}

// MARK: - fork

/// Uses all parts of the library with new objects. Returns whether all of it worked.
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

/// Observes with a closure that runs another one when it is destroyed.
private func observeUntilDeath(
    _ registry: ObserverRegistry<Int>,
    _ atDeath: @escaping @Sendable () -> Void
) -> ObservationToken {
    let dying = Dying(atDeath)
    return registry.observe { _ in withExtendedLifetime(dying) {} }
}

/// An object that runs a closure when it dies.
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

/// Properties of each kind, whose values children read.
private struct Readable: Sendable {
    let number = Observed(7)
    let text = Observed(String(repeating: "text", count: 9))
    let list = Observed([1, 2, 3])
    let pair = Observed((1, 2))
    let referent = Referent("referent")
    let weak: WeakObserved<Referent>

    /// Makes the properties, and reads all of them once. On first use the runtime makes objects
    /// under locks, which a fork may find held. (Hazards)
    init() {
        weak = WeakObserved(referent)
        check(areRead, "the values in the parent")
    }

    /// Whether all properties can be read, with the values from the fork.
    var areRead: Bool {
        number.value == 7 && text.value.count == 36 && list.value == [1, 2, 3] && pair.value == (1, 2)
            && weak.value === referent && list.withValue { $0.count } == 3
    }

    /// Whether a new thread, which has not used the library before, can read them.
    var areReadByNewThread: Bool {
        let isRead = Flag()
        let thread = TestThread { if areRead { isRead.set() } }
        return (try? thread.join()) != nil && isRead.isSet
    }
}

extension Promises.P18ForkTests {
    @Test("P18 The child of a process at rest reads, and the parent goes on")
    func atRest() async {
        await #expect(processExitsWith: .success) {
            let readable = Readable()
            check(useEverything(), "before the fork")
            check(inChild { readable.areRead } == 0, "the child")
            check(inChild { readable.areReadByNewThread } == 0, "the child's new thread")
            check(useEverything(), "after the fork")
        }
    }

    @Test("P18 The child of a process that has never used the library uses it")
    func beforeFirstUse() async {
        await #expect(processExitsWith: .success) {
            check(inChild(useEverything) == 0, "the child")
            // The child's child is one of a process that has used it.
            let status = inChild {
                let readable = Readable()
                return useEverything() && inChild { readable.areRead } == 0 && useEverything()
            }
            check(status == 0, "the child or its child: \(status)")
            check(useEverything(), "after the fork")
        }
    }

    /// Returns the uses of the library that trap in a child, by name.
    private static func forbidden(
        _ readable: Readable,
        _ registry: ObserverRegistry<Int>,
        _ token: ObservationToken
    ) -> [(String, () -> Void)] {
        [
            ("set", { readable.number.value = 8 }),
            ("set a string", { readable.text.value = "" }),
            ("modify", { readable.number.modify { $0 += 1 } }),
            ("set a weak property", { readable.weak.value = nil }),
            ("commit", { Group(readable.number, readable.text).commit { $0[readable.number] = 8 } }),
            ("observe", { _ = readable.number.observe { (_: Change<Int>) in } }),
            ("bind", { _ = readable.number.bind(to: Observed(0)) }),
            ("sequence", { _ = readable.number.values().makeAsyncIterator() }),
            ("new property, observed", { _ = Observed(0).observe { (_: Change<Int>) in } }),
            ("registry: observe", { _ = registry.observe { _ in } }),
            ("cancel", { token.cancel() }),
            ("cancelAndWait", { _ = waitsForTheEnd(of: token) }),
            ("cancelAllObservations", { registry.cancelAllObservations() }),
            ("onEnd", { token.onEnd { _ in } }),
            ("drain", { ConcurrentObserveDiagnostics.drain(deadline: .now) }),
            ("diagnostics", { _ = ConcurrentObserveDiagnostics.current() }),
        ]
    }

    @Test("P18 Any other use in the child traps")
    func traps() async {
        await #expect(processExitsWith: .success) {
            let (readable, registry) = (Readable(), ObserverRegistry<Int>())
            let token = registry.observe { _ in }
            for (name, use) in Self.forbidden(readable, registry, token) {
                let status = inChild {
                    close(STDERR_FILENO)
                    use()
                    return true
                }
                check([256 + Int(SIGILL), 256 + Int(SIGTRAP)].contains(status), "\(name): the child: \(status)")
            }
            check(token.isActive && readable.areRead && useEverything(), "the parent")
        }
    }

    @Test("P18 The trap says what a child may do, and what to do instead")
    func rule() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let number = Observed(0)
            number.value = 1
            _ = inChild {
                number.value = 2
                return true
            }
            exit(EXIT_FAILURE)
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("It may read values, and call exec or _exit. Use posix_spawn"))
    }

    @Test("P18 A child of a child, too, reads and traps")
    func grandchild() async {
        await #expect(processExitsWith: .success) {
            let readable = Readable()
            check(useEverything(), "before the fork")
            let status = inChild {
                let trap = inChild {
                    close(STDERR_FILENO)
                    readable.number.value = 8
                    return true
                }
                return readable.areRead && inChild { readable.areRead } == 0 && trap > 256
            }
            check(status == 0, "the child or its child: \(status)")
        }
    }

    @Test("P18 The child reads a derived value that need not be computed, whatever it was made from")
    func current() async {
        await #expect(processExitsWith: .success) {
            let (left, right) = (Observed(1), Observed(2))
            let twice = right.map { $0 * 2 }
            // The roots of a group with a derived value are not known.
            let group = Group(left, twice)
            let sum = Derived { get in
                let (left, twice) = get(group)
                return left + twice
            }
            check(sum.value == 5 && twice.value == 4, "the parent")
            let status = inChild { sum.value == 5 && twice.value == 4 }
            check(status == 0, "the child: \(status)")
        }
    }

    @Test("P18 What a child releases ends nothing, and traps nothing")
    func released() async {
        await #expect(processExitsWith: .success) {
            func make() -> [Any] {
                let (number, other, registry) = (Observed(0), Observed(1), ObserverRegistry<Int>())
                let (text, referent) = (Observed([Referent("value")]), Referent("referent"))
                let weak = WeakObserved<Referent>(referent)
                let sum = Derived { get in get(number) + get(other) }
                let (values, turbine) = (number.values().makeAsyncIterator(), Car(1))
                return [
                    number.observe { (_: Change<Int>) in }, number.observe(delivery: .serial()) { (_: Change<Int>) in },
                    other, text,
                    registry, registry.observe { _ in }, referent, weak, weak.observe { _ in }, sum,
                    sum.observe { (_: Change<Int>) in }, values, number.bindBidirectionally(with: other),
                    Group(number, other).observe { _ in },
                    turbine.property(\.axle.wheel.pressure).observe { (_: Change<Int>) in }, turbine,
                ]
            }
            var kept = make()
            let status = inChild {
                kept = []
                return true
            }
            check(status == 0, "the child: \(status)")
            withExtendedLifetime(kept) { check(useEverything(), "the parent") }
        }
    }

    @Test("P18 The child reads what other threads were changing, reading or observing at the fork")
    func whileChanging() async {
        await #expect(processExitsWith: .success) {
            let (text, pair) = (Observed(String(repeating: "a", count: 36)), Observed((0, 0)))
            let (left, right) = (Observed(0), Observed(0))
            let isWhole = {
                let (text, pair) = (text.value, pair.value)
                return text.count == 36 && Set(text).count == 1 && pair.0 == pair.1 && left.value >= 0
                    && right.value >= 0
            }
            // As `Readable` does, and what the other threads use as well.
            check(useEverything() && isWhole(), "the parent, before the forks")
            let hammer = Hammer(threads: 3) {
                text.value = String(repeating: "b", count: 36)
                _ = text.value
                text.observe { (_: Change<String>) in }.cancel()
                text.value = String(repeating: "c", count: 36)
                pair.modify { $0 = ($0.0 + 1, $0.1 + 1) }
                Group(left, right).commit { transaction in
                    transaction[left] += 1
                    transaction[right] += 1
                }
            }
            try hammer.waitUntilWarm()
            for round in 0..<60 {
                let status = inChild {
                    for _ in 0..<100 where !isWhole() { return false }
                    return true
                }
                check(status == 0, "the child of round \(round): \(status)")
            }
            try hammer.stop()
            check(useEverything(), "the parent")
        }
    }

    @Test("P18 The child reads a property whose modify another thread runs, and the members of its commit")
    func insideBodies() async {
        await #expect(processExitsWith: .success) {
            let readable = Readable()
            for isCommit in [false, true] {
                let (entered, exit) = (Signal("the body"), Signal("the body's release"))
                let thread = TestThread {
                    if isCommit {
                        Group(readable.number, readable.text).commit { transaction in
                            transaction[readable.number] = 7
                            entered.happen()
                            exit.hold()
                        }
                    } else {
                        readable.number.modify { _ in
                            entered.happen()
                            exit.hold()
                        }
                    }
                }
                try entered.wait()
                let status = inChild { readable.areRead && readable.areReadByNewThread }
                check(status == 0, "the child: \(status)")
                exit.happen()
                try thread.join()
            }
            check(useEverything(), "the parent")
        }
    }

    @Test("P18 A fork inside a callback, a body and a deinitialiser: the child reads, and the parent goes on")
    func insideUserCode() async {
        await #expect(processExitsWith: .success) {
            let (readable, registry) = (Readable(), ObserverRegistry<Int>())
            let statuses = Log<Int>()
            let token = registry.observe { _ in statuses.append(inChild { readable.areRead }) }
            registry.notify(1)
            readable.number.modify { _ in statuses.append(inChild { readable.areRead }) }
            token.cancel()
            observeUntilDeath(registry) { statuses.append(inChild { readable.areRead }) }.cancel()
            try eventually("the deinitialiser's fork") { statuses.count == 3 }
            check(statuses.entries == [0, 0, 0], "the children: \(statuses.entries)")
            check(useEverything(), "the parent")
        }
    }

    @Test("P18 While threads start, read and exit, the child reads on its thread and on a new one")
    func whileThreadsStart() async {
        await #expect(processExitsWith: .success) {
            let readable = Readable()
            let hammer = Hammer(threads: 2) { _ = readable.areReadByNewThread }
            try hammer.waitUntilWarm()
            for round in 0..<60 {
                let status = inChild { readable.areRead && readable.areReadByNewThread }
                check(status == 0, "the child of round \(round): \(status)")
            }
            try hammer.stop()
        }
    }

    @Test("P18 Forking again and again while threads register, cancel and retire leaves the parent as it was")
    func underChurn() async {
        await #expect(processExitsWith: .success) {
            let (shared, readable) = (ObserverRegistry<Int>(), Readable())
            let owner = Lives().make()
            let constant = shared.observe { _ in }
            let hammer = Hammer(threads: 3) {
                let source = ObserverRegistry<Int>()
                let token = shared.observe { _ in }
                shared.observe(owner: owner) { _, _ in }.cancel()
                source.observe { _ in }.onEnd { _ in }.cancelAndWaitBlocking()
                shared.notify(1)
                token.cancel()
            }
            try hammer.waitUntilWarm()
            for round in 0..<100 {
                let status = inChild { readable.areRead }
                check(status == 0, "the child of round \(round): \(status)")
            }
            try hammer.stop()
            check(constant.isActive && shared.observationCount == 1, "a child has changed the parent")
            check(useEverything(), "after the forks")
        }
    }

    @Test("P18 A child executes another program")
    func execute() async {
        await #expect(processExitsWith: .success) {
            check(useEverything(), "before the fork")
            let status = inChild {
                // Safe: the path is a literal; a program without arguments receives no name.
                unsafe execv("/bin/true", [nil])
                return false
            }
            check(status == 0, "the program: \(status)")
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
