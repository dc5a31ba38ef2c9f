// SPDX-License-Identifier: Apache-2.0

import Depot
import StressKit
import Testing

/// The value of a key in these tests: an object, so that two of them are never equal.
private final class Session: Sendable {
    let key: Int
    init(key: Int) { self.key = key }
}

@Test func allGetTheSameValue() throws {
    try stress(for: .seconds(3), windows: ["another thread was first"]) { round in
        let cache = OnceCache<Session>()
        round.load { worker in
            worker.begin("ask")
            let key = worker.random(below: 10_000)
            var made: Session?
            let value = cache.value(for: key) {
                made = Session(key: key)
                return made!
            }
            if let made, made !== value { worker.hit("another thread was first") }
            let again = cache.value(for: key) { Session(key: key) }
            worker.check(again === value, "cache.one-value", "key \(key) has had two values")
        }
        round.check(cache.count <= 10_000, "cache.bounded", "\(cache.count) values for 10,000 keys")
    }
}

@Test func cacheIsLinearizable() throws {
    try linearizable(as: Answers.self, for: .seconds(2), of: { OnceCache<Int>() }) { cache, step in
        let (key, offer) = (step.random(below: 2), step.unique)
        return Answers.Operation(key: key, offer: offer, answer: cache.value(for: key) { offer })
    }
}

/// How the cache behaves if calls follow one another.
private enum Answers: SequentialSpecification {
    struct Operation: Sendable, CustomStringConvertible {
        let key, offer, answer: Int
        var description: String { "value(for: \(key)) { \(offer) } → \(answer)" }
    }

    static var initial: [Int: Int] { [:] }

    static func state(after call: Operation, in values: [Int: Int]) -> [Int: Int]? {
        let expected = values[call.key] ?? call.offer
        return call.answer == expected ? values.merging([call.key: expected]) { $1 } : nil
    }
}
