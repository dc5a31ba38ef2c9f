// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("Property types of the user's")
    struct UsersPropertyTests {}
}

/// A property type that does not follow the rules for the observers it receives.
private struct Hostile: ObservableProperty {
    let base = Observed(0)
    let second = Observed(10)
    let third = Observed(20)
    let attachment: @Sendable (Hostile, PropertyObserver<Int>) -> ObservationToken

    init(_ attachment: @escaping @Sendable (Hostile, PropertyObserver<Int>) -> ObservationToken) {
        self.attachment = attachment
    }

    var value: Int { base.value }
    var version: UInt64 { base.version }
    func snapshot() -> (value: Int, version: UInt64) { base.snapshot() }
    func attach(_ observer: PropertyObserver<Int>) -> ObservationToken { attachment(self, observer) }
}

extension Hostile {
    static let twice = Hostile { hostile, observer in
        _ = hostile.second.attach(observer)
        return hostile.base.attach(observer)
    }
    /// Attaches the observer on two threads at once.
    static let atOnce = Hostile { hostile, observer in
        let tokens = Log<ObservationToken>()
        try! onThreads(2) { thread in tokens.append((thread == 0 ? hostile.base : hostile.second).attach(observer)) }
        return tokens.entries[0]
    }
    /// Attaches the observer again later on another thread, when an iterator reads.
    static let againLater = Hostile { hostile, observer in
        _ = TestThread {
            briefPause()
            for _ in 0..<1_000 { _ = hostile.second.attach(observer) }
        }
        return hostile.base.attach(observer)
    }
    static let transformedTwice = Hostile { hostile, observer in
        _ = hostile.second.removingDuplicates().attach(observer)
        return hostile.base.removingDuplicates().attach(observer)
    }
    static let twoGroups = Hostile { hostile, observer in
        _ = hostile.second.attach(observer)
        return hostile.third.attach(observer)
    }
    /// Never attaches the observer.
    static let never = Hostile { hostile, _ in hostile.base.observe { _ in } }
    static let later = Hostile { hostile, observer in
        _ = TestThread {
            usleep(20_000)
            _ = hostile.base.attach(observer)
        }
        return hostile.base.observe { _ in }
    }
    static let onAnotherThread = Hostile { hostile, observer in
        let token = Slot<ObservationToken>()
        try! onNewThread { token.put(hostile.base.attach(observer)) }
        return token.take()!
    }
    /// Attaches the observer to a property that dies before the return.
    static let dying = Hostile { _, observer in Observed(7).attach(observer) }
    /// Returns the token of another observation, and releases its own.
    static let othersToken = Hostile { hostile, observer in
        _ = hostile.base.attach(observer)
        return hostile.second.observe { _ in }
    }
    /// Returns a token whose observation has ended.
    static let oldToken = Hostile { hostile, observer in
        let token = hostile.second.observe { _ in }
        token.cancel()
        _ = hostile.base.attach(observer)
        return token
    }
    static let constant = Hostile { hostile, observer in observer.attach(toConstant: 3) }
}

/// Iterates in the form that reads without a lock. Returns the first value, if there is one.
private func firstValue(of property: some ObservableProperty<Int>, isInitial: Bool = true) async -> Int? {
    var iterator = property.values(options: isInitial ? .initial : [], buffering: .latest).makeAsyncIterator()
    return await iterator.next()
}

/// Observes in every form but with iterators, makes changes, and ends.
private func useAll(_ hostile: Hostile) {
    let owner = Lives().make()
    let tokens = [
        hostile.observe { _ in }, hostile.observe { _, _ in }, hostile.observe(owner: owner) { _, _ in },
        hostile.bind(to: Observed(0)), Group(hostile, Observed(0)).observe { _ in },
        hostile.map { $0 + 1 }.observe { _ in },
    ]
    for number in 0..<100 { hostile.base.value = number }
    for token in tokens { token.cancelAndWaitBlocking() }
}

extension Promises.UsersPropertyTests {
    private static let twice = "an observer is attached twice"
    private static let lacking = "returned and had not attached the observer"

    private func expectTrap(_ expected: String, _ output: [UInt8]?) {
        let text = String(decoding: output ?? [], as: UTF8.self)
        #expect(text.contains(expected), "\(text)")
    }

    @Test("An iterator's observer that is attached twice traps with the rule, from any thread and at any time")
    func attachedTwice() async {
        let first = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = await firstValue(of: Hostile.twice)
        }
        expectTrap(Self.twice, first?.standardErrorContent)
        let atOnce = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = await firstValue(of: Hostile.atOnce)
        }
        expectTrap(Self.twice, atOnce?.standardErrorContent)
        let transformed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = await firstValue(of: Hostile.transformedTwice)
        }
        expectTrap(Self.twice, transformed?.standardErrorContent)
        let later = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            for await value in Hostile.againLater.values(buffering: .latest) where value < 0 {}
        }
        expectTrap("an observer is attached", later?.standardErrorContent)
    }

    @Test("A delivery's and a group member's observer that is attached twice traps with the rule")
    func othersAttachedTwice() async {
        let delivered = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = Hostile.twice.observe(delivery: .serial()) { _ in }
        }
        expectTrap(Self.twice, delivered?.standardErrorContent)
        let member = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = Group(Hostile.twoGroups, Observed(0)).observe { _ in }
        }
        expectTrap(Self.twice, member?.standardErrorContent)
    }

    @Test("A closure that is called inline and attached twice is observed twice, and ends twice")
    func inlineTwice() {
        let received = Counter()
        let kept = Log<ObservationToken>()
        let both = Hostile { hostile, observer in
            kept.append(hostile.second.attach(observer))
            return hostile.base.attach(observer)
        }
        let token = both.observe { _ in received.increment() }
        both.base.value = 1
        both.second.value = 1
        #expect(received.value == 2)
        token.cancel()
        both.base.value = 2
        both.second.value = 2
        #expect(received.value == 3)
        kept.entries[0].cancel()
        both.second.value = 3
        #expect(received.value == 3)
    }

    @Test("An iterator whose observer is not attached traps with the rule and the remedy")
    func notAttached() async {
        let never = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = await firstValue(of: Hostile.never)
        }
        expectTrap(Self.lacking, never?.standardErrorContent)
        let later = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = await firstValue(of: Hostile.later)
        }
        expectTrap(Self.lacking, later?.standardErrorContent)
    }

    @Test(
        "Attached on another thread, an observer is attached; a dying property ends its iterator; so does a wrong token"
    )
    func unusual() async {
        #expect(await firstValue(of: Hostile.onAnotherThread) == 0)
        #expect(await firstValue(of: Hostile.dying) == 7)
        #expect(await firstValue(of: Hostile.dying, isInitial: false) == nil)
        #expect(await firstValue(of: Hostile.othersToken, isInitial: false) == nil)
        #expect(await firstValue(of: Hostile.oldToken, isInitial: false) == nil)
    }

    @Test("Whatever a property type does, closures, groups, bindings and derived values of it end")
    func everyForm() async {
        useAll(.onAnotherThread)
        useAll(.dying)
        useAll(.othersToken)
        useAll(.oldToken)
        useAll(.never)
        useAll(.constant)
    }

    @Test("P4 P12 A constant is observed: its initial value, then nothing, until the observation is cancelled")
    func constant() async throws {
        let received = ReceivedChanges<Int>()
        let token = Hostile.constant.observe(received, options: .initial)
        #expect(received.lines == ["initial - → 3 @0"])
        #expect(token.isActive)
        #expect(await firstValue(of: Hostile.constant) == 3)
        let sum = Log<Int>()
        let other = Observed(1)
        let group = Group(Hostile.constant, other).observe { change in sum.append(change.new.0 + change.new.1) }
        other.value = 2
        #expect(sum.entries == [5])
        let destination = Observed(0)
        let binding = Hostile.constant.bind(to: destination)
        #expect(destination.value == 3)
        withExtendedLifetime((group, binding)) {}
        let waiting = Task { await firstValue(of: Hostile.constant, isInitial: false) }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test("P11 What a constant holds is released with its last observation")
    func constantIsReleased() throws {
        let lives = Lives()
        struct Constant: ObservableProperty {
            let value: Life
            var version: UInt64 { 0 }
            func snapshot() -> (value: Life, version: UInt64) { (value, 0) }
            func attach(_ observer: PropertyObserver<Life>) -> ObservationToken { observer.attach(toConstant: value) }
        }
        do {
            let constant = Constant(value: lives.make())
            let tokens = [constant.observe { _ in }, constant.observe(delivery: .serial()) { _ in }]
            withExtendedLifetime(tokens) {}
        }
        try lives.waitUntilNoneIsLeft()
    }
}
