// SPDX-License-Identifier: Apache-2.0

#if Collections
import ConcurrentObserve
@testable import ConcurrentObserveCollections
import ConcurrentObserveTesting
import Synchronization
import Testing

/// A key that counts how often keys are hashed and compared, and whose hashes collide.
private struct CountingKey: Hashable, Sendable {
    static let calls = Atomic(0)

    let number: Int
    var isColliding = false

    static func == (left: CountingKey, right: CountingKey) -> Bool {
        calls.wrappingAdd(1, ordering: .relaxed)
        return left.number == right.number
    }

    func hash(into hasher: inout Hasher) {
        Self.calls.wrappingAdd(1, ordering: .relaxed)
        hasher.combine(isColliding ? number % 7 : number)
    }
}

// One at a time: they count the calls of one key type.
@Suite("Persistent dictionaries", .serialized, .timeLimit(.minutes(2)))
struct PersistentDictionaryTests {
    @Test("Behaves as a dictionary, and finds what two copies differ in", arguments: [false, true])
    func model(isColliding: Bool) {
        var random = SplitMix(seed: isColliding ? 1 : 2)
        var copies: [(PersistentDictionary<CountingKey, Int>, [CountingKey: Int], assigned: Int)] = []
        var dictionary = PersistentDictionary<CountingKey, Int>()
        var model: [CountingKey: Int] = [:]
        var assignedAt: [CountingKey: Int] = [:]
        for step in 1...2_000 {
            let key = CountingKey(number: Int(random.next() % 200), isColliding: isColliding)
            let value: Int? = random.next() % 3 == 0 ? nil : Int(random.next() % 5)
            dictionary[key] = value
            if value != nil { assignedAt[key] = step }
            model[key] = value
            #expect(dictionary[key] == value)
            #expect(dictionary.count == model.count)
            if step % 40 == 0 { copies.append((dictionary, model, step)) }
            guard step % 20 == 0, let (old, oldModel, assigned) = copies.randomElement(using: &random) else { continue }

            #expect(Dictionary(uniqueKeysWithValues: dictionary.map { ($0, $1) }) == model)
            let difference = dictionary.difference(from: old)
            let inserted = model.filter { oldModel[$0.key] == nil }
            let removed = oldModel.filter { model[$0.key] == nil }
            let updated = model.filter { oldModel[$0.key] != nil && assignedAt[$0.key]! > assigned }
            #expect(Dictionary(uniqueKeysWithValues: difference.inserted.map { ($0, $1) }) == inserted)
            #expect(Dictionary(uniqueKeysWithValues: difference.removed.map { ($0, $1) }) == removed)
            #expect(Dictionary(uniqueKeysWithValues: difference.updated.map { ($0.key, $0.new) }) == updated)
            #expect(difference.updated.allSatisfy { oldModel[$0.key] == $0.old })
            #expect((dictionary == old) == (model == oldModel))
            let changed = dictionary.keys(changedSince: old)
            let expected = Set(inserted.keys).union(removed.keys).union(updated.keys)
            #expect(expected.isSubset(of: changed) && Set(changed).count == changed.count)
        }
    }

    @Test("A difference costs as much as the keys that differ, of 50,000")
    func cost() {
        let old = PersistentDictionary(
            Dictionary(uniqueKeysWithValues: (0..<50_000).map { (CountingKey(number: $0), $0) })
        )
        var new = old
        for number in [7, 70, 700] { new[CountingKey(number: number)] = 0 }
        new[CountingKey(number: 7_000)] = nil
        let before = CountingKey.calls.load(ordering: .relaxed)
        let difference = new.difference(from: old)
        let calls = CountingKey.calls.load(ordering: .relaxed) - before
        #expect(difference.updated.count == 3 && difference.removed.count == 1 && difference.inserted.isEmpty)
        // Each of the four keys is looked up three times.
        #expect(calls < 40, "\(calls) calls of == and hash(into:)")
    }

    @Test("Unrelated dictionaries with equal keys have every common key updated, and can be equal")
    func unrelated() {
        let left: PersistentDictionary = ["a": 1, "b": 2]
        let right: PersistentDictionary = ["b": 2, "a": 1]
        #expect(left == right)
        #expect(left.difference(from: right).updated.count == 2)
        #expect(left != ["a": 1, "c": 2])
        #expect(left != ["a": 1])
        #expect(PersistentDictionary<String, Int>().difference(from: [:]).isEmpty)
    }

    @Test("A literal with a key twice traps with the key")
    func literalTwice() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let dictionary: PersistentDictionary = ["a": 1, "a": 2]
            print(dictionary.count)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("the key a stands twice in the literal"))
    }
}

/// Numbers that are the same on every run. (Steele, Lea and Flood, "Fast Splittable Pseudorandom
/// Number Generators", OOPSLA 2014.)
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
#endif
