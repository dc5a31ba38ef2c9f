// SPDX-License-Identifier: Apache-2.0

#if Collections
import ConcurrentObserve
@testable import ConcurrentObserveCollections
import ConcurrentObserveTesting
import Synchronization
import Testing

private final class Car: ConcurrentObservable {
    let mileage: Observed<Int>

    init(_ mileage: Int) { self.mileage = Observed(mileage) }
}

@Suite("Observed dictionaries", .leavesNothingBehind, .timeLimit(.minutes(5)))
struct ObservedDictionaryTests {
    @Test("An observer of a key receives the changes of that key, however they are made (P1, P2, P19)")
    func element() async throws {
        let flags = ObservedDictionary(["a": 1, "b": 2])
        let total = Observed(0)
        let a = flags["a"].record(options: .initial)
        flags["a"].value = 10
        flags["b"].value = 20
        flags["c"].value = 30
        flags["a"].value = 10
        flags.contents.modify { contents in
            contents["b"] = nil
            contents["a"] = 11
        }
        Group(flags.contents, total).commit { draft in
            draft[flags.contents]["a"] = nil
            draft[total] = 1
        }
        #expect(flags["a"].value == nil)
        flags["a"].modify { value in value = (value ?? 100) + 1 }
        try await a.expect([1, 10, 10, 11, nil, 101])
        #expect(flags.contents.value == ["a": 101, "c": 30])
        #expect(flags.contents.version == 7)
    }

    @Test("A key that comes and goes in the same change has not changed (P1)")
    func comesAndGoes() throws {
        let flags = ObservedDictionary(["a": 1])
        let seen = flags["b"].record()
        flags.contents.modify { contents in
            contents["b"] = 2
            contents["b"] = nil
        }
        try seen.expectNoEvents()
    }

    @Test("Versions grow by one, and never go back, whether the key is observed or not (P2)")
    func versions() async throws {
        let flags = ObservedDictionary(["a": 0])
        var latest: UInt64 = 0
        for round in 1...40 {
            flags["b"].value = round
            let before = flags["a"].snapshot()
            #expect(before.version >= latest)
            let versions = Mutex<[UInt64]>([])
            let token = flags["a"].observe { change in versions.withLock { $0.append(change.version) } }
            #expect(flags["a"].version == flags.contents.version)
            for _ in 1...3 { flags["a"].modify { $0! += 1 } }
            let found = versions.withLock { $0 }
            #expect(found.count == 3 && zip(found, found.dropFirst()).allSatisfy { $1 == $0 + 1 })
            #expect(found.first.map { $0 > before.version } == true)
            #expect(flags["a"].snapshot() == (flags["a"].value, found.last!))
            latest = found.last!
            await token.cancelAndWait()
            #expect(flags["a"].version >= latest)
        }
    }

    @Test("The sources of keys without observers are released")
    func sources() async throws {
        let flags = ObservedDictionary<Int, Int>()
        for number in 0..<1_000 { await flags[number].observe { _ in }.cancelAndWait() }
        #expect(flags.elements.sources.count <= 16)
        let tokens = (0..<100).map { number in flags[number].observe { _ in } }
        #expect(flags.elements.sources.count >= 100)
        withExtendedLifetime(tokens) {}
    }

    @Test("Observations end with the dictionary, and do not retain it (P11, P12)")
    func lifetime() async throws {
        var flags: ObservedDictionary<String, Int>? = ObservedDictionary(["a": 1])
        weak let reference = flags
        let ends = Mutex<[ObservationEnd]>([])
        let token = flags!["a"].observe { _ in }.onEnd { end in ends.withLock { $0.append(end) } }
        var iterator = flags!["a"].values(options: .initial).makeAsyncIterator()
        #expect(await iterator.next() == 1)
        flags = nil
        #expect(reference == nil)
        #expect(await iterator.next() == nil)
        try await whenQuiet()
        #expect(ends.withLock { $0 } == [.sourceDeleted])
        #expect(!token.isActive)
    }

    @Test("Observations of keys end with the dictionary, also if its contents live on (P12)")
    func contentsLiveOn() async throws {
        var flags: ObservedDictionary<String, Int>? = ObservedDictionary(["a": 1])
        let contents = flags!.contents
        let token = flags!["a"].observe { _ in }
        flags = nil
        try await whenQuiet()
        #expect(!token.isActive)
        withExtendedLifetime(contents) {}
    }

    @Test("A key begins with a later change that was announced before its property was made (P4)")
    func early() {
        for (announced, expected) in [(UInt64(7), 5), (2, 1)] {
            let source = ElementSource<Int>()
            #expect(source.state(for: 5, at: announced) == nil)
            #expect(source.property(1, 3).snapshot() == (expected, max(announced, 3)))
        }
    }

    @Test("A key may be observed in the body of another property's modify (P5)")
    func insideBody() throws {
        let flags = ObservedDictionary(["a": 1])
        let other = Observed(0)
        let tokens = Mutex<[ObservationToken]>([])
        let seen = Mutex<[Int?]>([])
        other.modify { value in
            value = 1
            let token = flags["a"].observe(options: .initial) { change in seen.withLock { $0.append(change.new) } }
            tokens.withLock { $0.append(token) }
        }
        flags["a"].value = 2
        #expect(seen.withLock { $0 } == [1, 2])
    }

    @Test("Differences of a slow observer lose no key", arguments: [Buffering.unbounded, .latest, .droppingOldest(3)])
    func differences(buffering: Buffering) async throws {
        let flags = ObservedDictionary<Int, Int>()
        let copy = Mutex<[Int: Int]>([:])
        let actor = ObservationActor()
        let delivery = Delivery.actor(actor, buffering: buffering)
        let token = flags.contents.observeDifferences(options: .initial, delivery: delivery) { difference, _ in
            copy.withLock { copy in
                for (key, value) in difference.removed { #expect(copy.removeValue(forKey: key) == value) }
                for (key, old, new) in difference.updated { #expect(copy.updateValue(new, forKey: key) == old) }
                for (key, value) in difference.inserted { #expect(copy.updateValue(value, forKey: key) == nil) }
            }
        }
        await withTaskGroup { group in
            for writer in 0..<2 {
                group.addTask {
                    var random = SplitMix(seed: UInt64(writer))
                    for step in 0..<5_000 {
                        flags[Int(random.next() % 100)].value = random.next() % 3 == 0 ? nil : step
                    }
                }
            }
        }
        try await whenQuiet()
        let contents = flags.contents.value
        copy.withLock { copy in #expect(PersistentDictionary(copy) == contents) }
        withExtendedLifetime(token) {}
    }

    @Test("observeEach follows values that are inserted, replaced and removed")
    func each() async throws {
        let cars = ObservedDictionary(["a": Car(1)])
        let seen = Mutex<[String]>([])
        let token = cars.contents.observeEach { key, car in
            car.mileage.observe { change in seen.withLock { $0.append("\(key)\(change.new)") } }
        }
        let first = cars["a"].value!
        first.mileage.value = 2
        let second = Car(10)
        cars["b"].value = second
        second.mileage.value = 11
        cars["a"].value = Car(100)
        first.mileage.value = 3
        cars["a"].value!.mileage.value = 101
        cars["b"].value = nil
        second.mileage.value = 12
        cars["b"].value = second
        second.mileage.value = 13
        #expect(seen.withLock { $0 } == ["a2", "b11", "a101", "b13"])
        await token.cancelAndWait()
        second.mileage.value = 14
        #expect(seen.withLock { $0 }.count == 4)
        #expect(second.mileage.observationCount == 0)
    }

    @Test("A derived value follows a key and its model (P22, P24)")
    func derived() async throws {
        let cars = ObservedDictionary(["a": Car(1)])
        let runs = Atomic(0)
        let mileage = Derived { get in
            runs.wrappingAdd(1, ordering: .relaxed)
            return get.follow(cars["a"])?.mileage
        }
        #expect(mileage.value == 1)
        let seen = mileage.record()
        cars["a"].value!.mileage.value = 2
        let before = runs.load(ordering: .relaxed)
        for number in 0..<10 { cars["b"].value = Car(number) }
        #expect(runs.load(ordering: .relaxed) == before)
        cars["a"].value = nil
        cars["a"].value = Car(7)
        try await seen.expect([2, nil, 7])
    }

    @Test("Keys that a change assigns change together (P20, P23)")
    func together() async throws {
        let numbers = ObservedDictionary(["a": 0, "b": 0])
        let sum = Derived(numbers["a"], numbers["b"]) { a, b in a! + b! }
        let pair = Group(numbers["a"], numbers["b"])
        let sums = sum.record(), pairs = Mutex<[Int]>([])
        let token = pair.observe { change in pairs.withLock { $0.append(change.new.0! + change.new.1!) } }
        let writer = Task.detached {
            for number in 1...2_000 {
                numbers.contents.modify { contents in
                    contents["a"] = number
                    contents["b"] = -number
                }
            }
        }
        for _ in 0..<2_000 {
            let (a, b) = pair.value
            #expect(a! + b! == 0)
        }
        await writer.value
        try sums.expectNoEvents()
        #expect(pairs.withLock { $0.allSatisfy { $0 == 0 } && !$0.isEmpty })
        withExtendedLifetime(token) {}
    }

    @Test("A change that is announced late begins no key that has a later value (P3)")
    func late() async throws {
        let flags = ObservedDictionary<Int, Int>()
        for round in 1...2_000 {
            async let first: Void = { flags[0].value = 2 * round }()
            async let second: Void = { flags[0].value = 2 * round + 1 }()
            let latest = LatestValue()
            let token = flags[0].observe(options: .initial) { change in latest.note(change) }
            _ = await (first, second)
            #expect(latest.value == flags[0].value)
            await token.cancelAndWait()
        }
    }

    @Test("A cancellation of all observations of the contents ends no observation of a key (P8)")
    func cancelAll() async throws {
        let flags = ObservedDictionary(["a": 1])
        let seen = flags["a"].record()
        flags.contents.cancelAllObservations()
        try await whenQuiet()
        flags["a"].value = 2
        try await seen.expect([2])
        #expect(flags["a"].snapshot().value == 2)
    }

    @Test("A value that is gone is released, whether its key was observed or not (P14)")
    func released() async throws {
        let cars = ObservedDictionary<Int, Car>()
        weak var car: Car?
        do {
            let made = Car(1)
            car = made
            cars[0].value = made
        }
        await cars[0].observe { _ in }.cancelAndWait()
        cars[0].value = nil
        try await whenQuiet()
        #expect(car == nil)
    }

    // MARK: - Races

    @Test("Observers that come and go beside writers receive the last value of their key (P3, P4)")
    func races() async throws {
        for round in 0..<20 {
            let flags = ObservedDictionary<Int, Int>()
            let writersAreDone = Observed(false)
            await withTaskGroup { group in
                for observer in 0..<3 {
                    group.addTask {
                        var random = SplitMix(seed: UInt64(round * 10 + observer))
                        while !writersAreDone.value {
                            let element = flags[Int(random.next() % 8)]
                            let latest = LatestValue()
                            let token = element.observe(options: .initial) { change in latest.note(change) }
                            for _ in 0..<(random.next() % 50) { await Task.yield() }
                            // Whatever it has received last, it was the value of some moment since.
                            let snapshot = element.snapshot()
                            let last = latest.last
                            if last.version == snapshot.version { #expect(last.value == snapshot.value) }
                            await token.cancelAndWait()
                        }
                    }
                }
                let kept = (0..<8).map { key in
                    let latest = LatestValue()
                    return (latest, flags[key].observe(options: .initial) { change in latest.note(change) })
                }
                await withTaskGroup { writers in
                    for writer in 0..<2 {
                        writers.addTask {
                            var random = SplitMix(seed: UInt64(1_000 + round * 10 + writer))
                            for step in 0..<500 {
                                let key = Int(random.next() % 8)
                                flags[key].value = random.next() % 4 == 0 ? nil : writer * 10_000 + step
                            }
                        }
                    }
                }
                writersAreDone.value = true
                for (key, (latest, token)) in kept.enumerated() {
                    #expect(latest.value == flags[key].value, "key \(key)")
                    #expect(flags[key].snapshot().value == flags[key].value)
                    withExtendedLifetime(token) {}
                }
            }
        }
    }

    @Test("An observation that begins beside a change misses nothing (P4)")
    func beginsBesideChange() async throws {
        for number in 1...3_000 {
            let flags = ObservedDictionary<Int, Int>()
            let latest = LatestValue()
            async let changed: Void = { flags[0].value = number }()
            let token = flags[0].observe(options: .initial) { change in latest.note(change) }
            await changed
            #expect(latest.value == number)
            #expect(flags[0].snapshot().value == number)
            withExtendedLifetime(token) {}
        }
    }
}

/// The value with the highest version that an observer has received.
private final class LatestValue: Sendable {
    private let latest = Mutex<(version: UInt64, value: Int?)>((0, nil))

    /// The version and the value of one change.
    var last: (version: UInt64, value: Int?) { latest.withLock { $0 } }
    var value: Int? { last.value }

    func note(_ change: Change<Int?>) {
        latest.withLock { if change.version >= $0.version { $0 = (change.version, change.new) } }
    }
}
#endif
