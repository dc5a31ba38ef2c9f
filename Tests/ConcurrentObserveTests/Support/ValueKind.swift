// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

/// A kind of value, some values of it, and what a property of that kind has to do with them.
struct ValueKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    private let specialised: @Sendable () -> [String]
    private let unspecialised: any Exercise

    /// - Parameters:
    ///   - values: Any number, alike ones too.
    ///   - describe: Distinguishes values.
    @inline(__always)
    init<Value: Sendable>(
        _ name: String,
        _ values: [Value],
        _ describe: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        testDescription = name
        specialised = { exercise(values, describe) }
        unspecialised = Values(values: values, describe: describe)
    }

    /// With code that the optimiser may have made for this very type. - Returns: What went wrong.
    func exerciseDirectly() -> [String] { specialised() }

    /// With code that serves every type. - Returns: What went wrong.
    func exerciseGenerically() -> [String] { unspecialised.run() }
}

/// Called only through this protocol, so that the compiler cannot specialise the code for one type.
private protocol Exercise: Sendable {
    func run() -> [String]
}

private struct Values<Value: Sendable>: Exercise {
    let values: [Value]
    let describe: @Sendable (Value) -> String

    func run() -> [String] { exercise(values, describe) }
}

/// Puts every value in the place of every other, with every operation. - Returns: What went wrong.
private func exercise<Value: Sendable>(
    _ values: [Value],
    _ describe: @escaping @Sendable (Value) -> String
) -> [String] {
    var mistakes: [String] = []
    func expect(_ found: String, _ expected: String, _ what: String) {
        if found != expected { mistakes.append("\(what): \(found) instead of \(expected)") }
    }
    for old in values {
        for new in values {
            let (before, after) = (describe(old), describe(new))
            let property = Observed(old)
            let received = ReceivedChanges<Value>()
            let token = property.observe(received, options: [.initial, .prior])
            let kept = property.snapshot().value

            property.value = new
            expect(describe(property.value), after, "set")
            expect(describe(property.exchange(old)), after, "exchange, old")
            expect(describe(property.snapshot().value), before, "exchange")
            property.modify { $0 = new }
            expect(property.withValue { describe($0) }, after, "modify")
            expect(property.modify { describe($0) }, after, "modify that changes nothing")
            expect(describe(property.value), after, "modify that changes nothing, later")

            expect(describe(kept), before, "a copy of the first value")
            expect("\(property.version) \(property.snapshot().version)", "4 4", "versions")
            token.cancel()
            let lines = received.changes.map {
                "\($0.reason == .prior ? "prior " : "")\($0.old.map(describe) ?? "-") → \(describe($0.new))"
            }
            let expected = [
                "- → \(before)",
                "prior - → \(before)", "\(before) → \(after)", "prior - → \(after)", "\(after) → \(before)",
                "\(before) → \(after)", "\(after) → \(after)",
            ]
            expect("\(lines)", "\(expected)", "what an observer receives")
        }
    }
    return mistakes
}
