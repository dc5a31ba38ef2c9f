// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P18 Fork: properties")
    struct P18PropertyForkTests {}
}

/// A value on the heap that counts its death and needs no lock for it.
private struct Held: Equatable, Sendable {
    let number: Int
    let mortal: Mortal?

    init(_ number: Int, _ deaths: Counter? = nil) {
        self.number = number
        mortal = deaths.map(Mortal.init)
    }

    static func == (left: Held, right: Held) -> Bool { left.number == right.number }
}

/// Does everything with a property that this process may change. True if all of it worked.
private func use(_ property: Observed<Held>) -> Bool {
    let (deaths, calls, ends) = (Counter(), Counter(), Counter())
    let version = property.version
    let token = property.observe(options: [.initial, .prior]) { (_: Change<Held>) in calls.increment() }
    token.onEnd { _ in ends.increment() }
    property.value = Held(1, deaths)
    property.exchange(Held(2, deaths))
    property.modify { $0 = Held(3, deaths) }
    property.compareExchange(expected: Held(3), desired: Held(4))
    guard calls.value == 7, property.version == version + 4, property.value == Held(4) else { return false }
    guard property.withValue({ $0.number }) == 4, property.snapshot() == (Held(4), version + 4) else { return false }
    guard waitsForTheEnd(of: token) else { return false }
    guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished else { return false }
    return deaths.value == 3 && ends.value == 1
}

/// Uses a new property in every way, and waits for its end.
private func useNew() -> Bool {
    let ends = Counter()
    let property = Slot(Observed(Held(0)))
    let token = property.value!.observe { (_: Change<Held>) in }
    token.onEnd { if $0 == .sourceDeleted { ends.increment() } }
    guard use(property.value!) else { return false }
    property.clear()
    guard !token.isActive else { return false }
    guard ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished else { return false }
    return ends.value == 1
}

/// What a child does with a property that the parent has used. Returns its status: 0 if everything worked.
private func childUses(_ property: Observed<Held>) -> Int { inChild { use(property) && useNew() } }

extension Promises.P18PropertyForkTests {
    @Test("P18 The child of a process at rest uses its properties and new ones, and the parent goes on")
    func atRest() async {
        await #expect(processExitsWith: .success) {
            let property = Observed(Held(0))
            check(inChild(useNew) == 0, "the child, before first use")
            check(use(property), "before the fork")
            check(childUses(property) == 0, "the child")
            check(property.version == 4, "the child has changed the parent")
            check(use(property) && useNew(), "after the fork")
        }
    }

    @Test("P18 The child may use a property that another thread was observing at the fork")
    func observing() async {
        await #expect(processExitsWith: .success) {
            try forkWhile { property in property.observe { (_: Change<Held>) in }.cancel() }
        }
    }

    @Test(
        "P18 The child may use a property that another thread was observing with initial, for an owner, or waiting for"
    )
    func observingOtherwise() async {
        await #expect(processExitsWith: .success) {
            let owner = Mortal(Counter())
            try forkWhile { property in
                property.observe(options: .initial) { (_: Change<Held>) in }.cancel()
                property.observe(owner: owner) { _, _ in }.cancel()
                property.observe { (_: Change<Held>) in }.cancelAndWaitBlocking()
            }
        }
    }

    @Test("P18 The child may use a property that another thread was reading at the fork")
    func reading() async {
        await #expect(processExitsWith: .success) {
            try forkWhile { property in
                let (value, version) = (property.value, property.snapshot().version)
                let number = property.withValue { $0.number }
                check(value.number == number && version == property.version, "a reader")
            }
        }
    }

    @Test("P18 The child may use a property that threads were reading which have used nothing else")
    func onlyReading() async {
        await #expect(processExitsWith: .success) {
            try forkWhile(isFirstUse: true) { property in check(property.value.number == 0, "a reader") }
        }
    }

    @Test("P18 The child may use a property that another thread has compared in vain at the fork")
    func comparing() async {
        await #expect(processExitsWith: .success) {
            try forkWhile { property in property.compareExchange(expected: Held(-1), desired: Held(-2)) }
        }
    }

    @Test("P18 While other threads change their properties, the child uses others, which no thread was changing")
    func changing() async {
        await #expect(processExitsWith: .success) {
            let changed = Observed(Held(0))
            let token = changed.observe(options: .prior) { (_: Change<Held>) in }
            try forkWhile { _ in
                changed.value = Held(1)
                changed.modify { $0 = Held($0.number + 1) }
                changed.compareExchange(expected: Held(2), desired: Held(3))
            }
            check(token.isActive, "a child has changed the parent")
        }
    }

    @Test("P18 While properties of other threads come and go, the child uses others")
    func dying() async {
        await #expect(processExitsWith: .success) {
            try forkWhile { _ in
                let property = Observed(Held(0))
                let token = property.observe { (_: Change<Held>) in }
                property.value = Held(1)
                withExtendedLifetime(token) {}
            }
        }
    }

    @Test("P18 What another thread's withValue held in the parent is free in the child")
    func foreignPins() async {
        await #expect(processExitsWith: .success) {
            let property = Observed(Held(0))
            let (entered, exit) = (Signal("the body"), Signal("the body's release"))
            let reader = TestThread {
                property.withValue { _ in
                    entered.happen()
                    exit.hold()
                }
            }
            try entered.wait()
            let status = childUses(property)
            check(status == 0, "the child: \(status)")
            exit.happen()
            try reader.join()
            check(use(property), "after the fork")
        }
    }

    @Test(
        "P18 A property that another thread was modifying at the fork is read and observed in the child, also on new threads"
    )
    func foreignModify() async {
        await #expect(processExitsWith: .success) {
            try forkBesideModify { property, modifiers in
                let status = inChild {
                    let (reads, calls) = (Counter(), Counter())
                    // As many threads as there were: each record that may be taken over is.
                    try? onThreads(modifiers + 2) { _ in
                        let token = property.observe(options: .initial) { (_: Change<Held>) in calls.increment() }
                        if property.value == Held(0), token.cancelAndWaitBlocking() == .finished { reads.increment() }
                    }
                    return reads.value == modifiers + 2 && calls.value == modifiers + 2 && useNew()
                }
                check(status == 0, "the child: \(status)")
            }
        }
    }

    @Test("P18 Changing a property that another thread was modifying at the fork traps in the child, with the reason")
    func changeBesideModify() async {
        await #expect(processExitsWith: .success) {
            try forkBesideModify { property, _ in
                let changes: [@Sendable () -> Void] = [
                    { property.value = Held(1) }, { property.modify { $0 = Held(1) } },
                ]
                for change in changes {
                    let (status, message) = messageOfChild { try? onNewThread(change) }
                    check(status > 256 && status != 256 + Int(SIGALRM), "the child: \(status)")
                    check(message.contains("that another thread was in a modify of at the fork"), message)
                }
            }
        }
    }

    @Test("P18 A grandchild, too, distinguishes the thread that was modifying from its own")
    func grandchildBesideModify() async {
        await #expect(processExitsWith: .success) {
            try forkBesideModify { property, modifiers in
                let status = inChild {
                    inChild {
                        let calls = Counter()
                        try? onThreads(modifiers + 2) { _ in
                            property.observe(options: .initial) { (_: Change<Held>) in calls.increment() }.cancel()
                        }
                        return calls.value == modifiers + 2
                    } == 0
                }
                check(status == 0, "the grandchild: \(status)")
            }
        }
    }

    @Test("P18 A fork inside modify: both processes finish the body, and go on")
    func insideModify() async {
        await #expect(processExitsWith: .success) {
            forkInside { property, fork in property.modify { _ in fork() } }
        }
    }

    @Test("P18 A fork inside withValue: both processes read on, and go on")
    func insideWithValue() async {
        await #expect(processExitsWith: .success) {
            forkInside { property, fork in
                property.withValue { value in
                    fork()
                    check(value.number == 0, "the value")
                }
            }
        }
    }

    @Test("P18 A fork inside a callback: both processes finish the pass, and go on")
    func insideACallback() async {
        await #expect(processExitsWith: .success) {
            forkInside { property, fork in
                let calls = Counter()
                let tokens = [
                    property.observeValues { _ in calls.increment() },
                    property.observe { _, observation in
                        observation.cancel()
                        fork()
                    },
                    property.observeValues { _ in calls.increment() },
                ]
                property.value = Held(0)
                check(calls.value == 2, "the pass")
                withExtendedLifetime(tokens) {}
            }
        }
    }
}

/// Forks where `body` says so; the parent and the child both go on from there, and then use the property.
private func forkInside(_ body: (Observed<Held>, _ fork: @escaping @Sendable () -> Void) -> Void) {
    Process.limitLife(seconds: 30)
    let property = Observed(Held(0))
    let child = Slot<pid_t>()
    body(property) { child.put(Process.fork()) }
    let isFine = use(property) && useNew()
    guard let number = child.value, number > 0 else { _exit(isFine ? 0 : 1) }
    check(isFine, "the parent")
    let status = Process.status(of: number)
    check(status == 0, "the child: \(status)")
}

/// Forks again and again while three threads do `work` to the property that the child then uses.
private func forkWhile(
    isFirstUse: Bool = false,
    _ work: @escaping @Sendable (Observed<Held>) -> Void
) throws {
    Process.limitLife(seconds: 60)
    let property = Observed(Held(0))
    if !isFirstUse { check(use(property), "before the fork") }
    let hammer = Hammer(threads: 3) { work(property) }
    try hammer.waitUntilWarm()
    for round in 0..<15 {
        let status = childUses(property)
        check(status == 0, "the child of round \(round): \(status)")
    }
    try hammer.stop()
    check(use(property) && useNew(), "after the forks")
}

/// Runs `body` while a thread is in the body of a `modify` of `property`, beside another that modifies its own.
private func forkBesideModify(_ body: (_ property: Observed<Held>, _ modifiers: Int) throws -> Void) throws {
    Process.limitLife(seconds: 60)
    let properties = [Observed(Held(0)), Observed(Held(0))]
    check(use(properties[1]), "before the fork")
    let exit = [Signal("the body's release"), Signal("the body's release")]
    let threads = try (0..<2).map { index in
        let entered = Signal("the body")
        let thread = TestThread {
            properties[index].modify { _ in
                entered.happen()
                exit[index].hold()
            }
        }
        try entered.wait()
        return thread
    }
    try body(properties[0], threads.count)
    for index in 0..<2 {
        exit[index].happen()
        try threads[index].join()
    }
    check(properties[0].version == 1 && useNew(), "after the fork")
}

/// Forks; the child runs `body`. Returns its status and what it has written to its standard error.
private func messageOfChild(_ body: () -> Void) -> (status: Int, message: String) {
    var ends: [Int32] = [0, 0]
    check(unsafe pipe(&ends) == 0, "there is no pipe")
    let child = Process.fork()
    if child == 0 {
        Process.limitLife(seconds: 15)
        dup2(ends[1], STDERR_FILENO)
        body()
        _exit(0)
    }
    close(ends[1])
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(ends[0], $0.baseAddress, $0.count) }
        if count <= 0 { break }
        text += buffer.prefix(count)
    }
    close(ends[0])
    return (Process.status(of: child), String(decoding: text, as: UTF8.self))
}
