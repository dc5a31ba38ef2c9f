// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P11 An observation keeps the derived values that it observes, and none of their sources")
    struct P11DerivedTests {}
}

extension Promises.P11DerivedTests {
    /// Every way to reach a derived value, with every way to observe it.
    private static var combinations: [(DerivedKind, DerivedForm)] {
        DerivedKind.allCases.flatMap { kind in DerivedForm.allCases.map { (kind, $0) } }
    }

    @Test(
        "P11 P14 Each kind in each form goes on until it is ended; then nothing of it is left",
        arguments: combinations
    )
    func kept(_ kind: DerivedKind, _ form: DerivedForm) throws {
        let (lives, received) = (Lives(), ReceivedNumbers())
        let sources = DerivedSources(lives)
        let going = kind.observe(sources) { form.begin($0, received) }
        for number in 1...3 {
            sources.set(number)
            try eventually("the number of \(kind) in \(form)") { received.last == number * 10 }
        }
        #expect(going.token?.isActive != false && lives.alive == (kind.capturesLife ? 1 : 0) && received.ends.isEmpty)
        going.end()
        try lives.waitUntilNoneIsLeft()
        #expect(!lives.deathThreads.contains(threadNumber()))
        #expect(sources.number.observationCount == 0)
        sources.set(4)
        #expect(received.last == 30)
    }

    @Test("P11 P12 With its sources each ends, unless its function captures them", arguments: combinations)
    func death(_ kind: DerivedKind, _ form: DerivedForm) throws {
        let (lives, received) = (Lives(), ReceivedNumbers())
        var sources: DerivedSources? = DerivedSources(lives)
        let root = Weak(sources!.number)
        let going = kind.observe(sources!) { form.begin($0, received) }
        sources!.set(1)
        try eventually("the first number of \(kind) in \(form)") { received.last == 10 }
        sources = nil
        if kind.retainsSource {
            #expect(root.object != nil)
            root.object?.value = 2
            try eventually("the second number") { received.last == 20 }
            going.end()
        } else {
            try received.ended.wait()
            #expect(received.ends == [.sourceDeleted] && going.token?.isActive != true)
        }
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of the source") { root.object == nil }
        withExtendedLifetime(going) {}
    }

    @Test("P11 A sequence keeps it for later iterators, and nothing is registered before")
    func sequence() async throws {
        let (lives, a) = (Lives(), Observed(0))
        func make() -> ObservationSequence<Int> {
            a.map { [life = lives.make()] number in
                life.touch()
                return number * 10
            }
            .values(options: .initial)
        }
        var sequence: ObservationSequence<Int>? = make()
        #expect(a.observationCount == 0 && lives.alive == 1)
        for number in 1...2 {
            a.value = number
            let first = await sequence!.first { _ in true }
            #expect(first == number * 10)
        }
        sequence = nil
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P11 P12 A sequence whose source has died ends at once")
    func sequenceOfDead() async {
        var a: Observed<Int>? = Observed(0)
        let sequence = a!.map { $0 }.values(options: .initial)
        a = nil
        for await _ in sequence { Issue.record("an element of nothing") }
    }

    @Test("P11 P24 What several observe is evaluated once, also when the program has dropped it")
    func shared() {
        let (a, runs, received) = (Observed(0), Counter(), Log<Int>())
        func observe() -> [ObservationToken] {
            let tens = a.map { number in
                runs.increment()
                return number * 10
            }
            return [
                tens.observe { received.append($0.new) },
                tens.map { $0 + 1 }.observe { received.append($0.new) },
                tens.map { $0 + 2 }.combine(tens.map { $0 + 3 }) { $0 * 100 + $1 }.observe { received.append($0.new) },
            ]
        }
        let tokens = observe()
        for number in 1...3 {
            let before = runs.value
            a.value = number
            #expect(runs.value == before + 1)
        }
        #expect(received.entries == [10, 11, 1213, 20, 21, 2223, 30, 31, 3233])
        #expect(a.observationCount == 3)
        tokens.forEach { $0.cancel() }
        #expect(a.observationCount == 0)
    }

    @Test("P11 P2 Versions, and what is old, go on when the program drops it")
    func versions() {
        let (a, received) = (Observed(0), ReceivedChanges<Int>())
        var derived: Derived<Int>? = a.map { $0 % 4 }
        let token = derived!.observe(received)
        a.value = 1
        derived = nil
        for value in [5, 2, 6, 3] { a.value = value }
        #expect(received.lines == ["valueChanged 0 → 1 @1", "valueChanged 1 → 2 @2", "valueChanged 2 → 3 @3"])
        token.cancel()
    }

    @Test("P11 P12 The program's derived value retains its source; when it is dropped, the observation ends")
    func retaining() throws {
        var a: Observed<Int>? = Observed(1)
        let (root, received) = (Weak(a!), ReceivedChanges<Int>())
        var derived: Derived<Int>? = a!.map { $0 * 10 }
        let token = derived!.observe(received).recordEnd(to: received)
        a = nil
        root.object?.value = 2
        #expect(derived!.value == 20 && token.isActive)
        derived = nil
        #expect(!token.isActive && root.object == nil)
        try received.ended.wait()
        #expect(received.lines == ["valueChanged 10 → 20 @1", "sourceDeleted"])
    }

    @Test("P11 P12 One of two named sources dies: the observation ends at once")
    func oneOfTwo() throws {
        let (a, received) = (Observed(1), ReceivedChanges<Int>())
        var b: Observed<Int>? = Observed(2)
        let token = a.combine(b!) { $0 + $1 }.observe(received).recordEnd(to: received)
        b!.value = 3
        b = nil
        #expect(!token.isActive && a.observationCount == 0)
        a.value = 5
        try received.ended.wait()
        #expect(received.lines == ["valueChanged 3 → 4 @1", "sourceDeleted"])
    }

    @Test("P11 P5 The source dies in a change of another: its value is destroyed elsewhere")
    func deathInChange() throws {
        let (trigger, lives) = (Observed(0), Lives())
        let slot = Slot(Observed<Life?>(lives.make()))
        let token = slot.value!.combine(trigger) { life, number in
            if number == 1 { slot.clear() }
            life?.touch()
            return number
        }
        .observe { _ in }
        trigger.value = 1
        try lives.waitUntilNoneIsLeft()
        #expect(!lives.deathThreads.contains(threadNumber()))
        // A thread of the library ends it if this one still had the derived value's successor when
        // the source died.
        try eventually("the end") { !token.isActive }
    }

    @Test("P11 Dropped by the program while the source changes: no change is lost", arguments: 0..<4)
    func dropBesideChanges(_ seed: Int) throws {
        for _ in 0..<500 {
            let (a, received) = (Observed(0), ReceivedNumbers())
            let slot = Slot(a.map { $0 * 10 })
            let token = slot.value!.observe { received.append($0.new) }
            try onThreads(3) { thread in
                switch thread {
                case 0: for number in 1...20 { a.value = number }
                case 1: slot.clear()
                default: for number in 21...40 { a.value = number }
                }
            }
            try eventually("the last number") { received.has(a.value * 10) }
            token.cancel()
        }
    }
}

// MARK: - Models

extension Promises.P11DerivedTests {
    /// A model that stores the tokens of its own derived values.
    fileprivate final class Boiler: ConcurrentObservable, Sendable {
        let heat = Observed(1)
        let limit = Observed(5)
        let named: Derived<Bool>
        let healthy: Derived<Bool>
        private let weaklyStored = _DerivedStorage<Bool>()
        private let tokens = Log<ObservationToken>()
        private let deaths: Counter

        var weaklyHealthy: Derived<Bool> {
            weaklyStored.derived { Derived { [weak self] get in self.map { get($0.heat) < 5 } ?? false } }
        }

        init(_ deaths: Counter) {
            self.deaths = deaths
            named = Derived(heat, limit) { $0 < $1 }
            healthy = Derived { [heat, limit] get in get(heat) < get(limit) }.ofModel()
        }

        deinit { deaths.increment() }

        /// Keeps observations of all of its own values.
        func begin(_ received: ReceivedNumbers) {
            let note = { @Sendable (change: Change<Bool>) in received.append(change.new ? 1 : 0) }
            tokens.append(named.observe(note))
            tokens.append(healthy.observe(note))
            tokens.append(weaklyHealthy.observe(note))
            tokens.append(heat.map { $0 < 5 }.observe(note))
            tokens.append(healthy.map { !$0 }.observe(note))
            tokens.append(observe(\.healthy, note))
            tokens.append(property(\.healthy).observe(note))
            tokens.append(property(\.heat).map { $0 < 5 }.observe(note))
            tokens.append(Group(heat, healthy).map { $0.1 }.observe(note))
            tokens.append(healthy.bind(to: Observed(false)))
        }
    }

    fileprivate final class House: ConcurrentObservable, Sendable {
        let boiler: Observed<Boiler>
        private let tokens = Log<ObservationToken>()

        init(_ boiler: Boiler) { self.boiler = Observed(boiler) }

        func begin(_ received: ReceivedNumbers) {
            tokens.append(property(\.boiler.healthy).observe { received.append($0.new ? 1 : 0) })
            tokens.append(observe(\.boiler.healthy) { received.append($0.new ? 1 : 0) })
        }
    }

    @Test("P11 A model that stores the tokens of its own derived values is freed")
    func noCycle() {
        let (deaths, received) = (Counter(), ReceivedNumbers())
        do {
            let boiler = Boiler(deaths)
            boiler.begin(received)
            boiler.heat.value = 6
            #expect(received.last != nil)
            let house = House(boiler)
            house.begin(received)
            boiler.heat.value = 1
        }
        #expect(deaths.value == 1)
    }

    @Test("P11 P12 Observations of a model's derived values end with the model")
    func modelsDeath() throws {
        let deaths = Counter()
        var house: House? = House(Boiler(deaths))
        let boiler = house!.boiler.value
        let tokens = [
            boiler.healthy.observe { _ in }, boiler.healthy.map { !$0 }.observe { _ in }, boiler.named.observe { _ in },
            house!.observe(\.boiler.healthy) { _ in },
        ]
        #expect(tokens.allSatisfy { $0.isActive })
        house = nil
        #expect(!tokens[3].isActive)
        withExtendedLifetime(boiler) {}
    }

    @Test("P11 P12 The model dies, and what its derived value reads lives on")
    func rootsLiveOn() {
        let limit = Observed(5)
        final class Model: Sendable {
            private let stored = _DerivedStorage<Int>()

            func derived(_ a: Observed<Int>) -> Derived<Int> { stored.derived { Derived { get in get(a) } } }
        }
        var model: Model? = Model()
        let token = model!.derived(limit).map { $0 * 2 }.observe { _ in }
        limit.value = 6
        #expect(token.isActive)
        model = nil
        limit.value = 7
        #expect(!token.isActive && limit.observationCount == 0)
    }
}
