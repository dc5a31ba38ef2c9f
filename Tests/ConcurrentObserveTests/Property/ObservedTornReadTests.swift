// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Reads are whole")
    struct ObservedTornReadTests {}
}

extension Promises.ObservedTornReadTests {
    @Test("Two words, read in every way while several threads write, belong together")
    func pairs() throws { try readWhileWriting(Pair.self) }

    @Test("So do four words")
    func quads() throws { try readWhileWriting(Quad.self) }

    @Test("So do strings, whether they are kept in the property or not")
    func strings() throws { try readWhileWriting(String.self) }

    @Test("So does the memory of arrays")
    func rows() throws { try readWhileWriting(Row.self) }

    @Test("So do objects, which live for as long as a reader has them")
    func objects() throws { try readWhileWriting(Object.self) }

    @Test("So does whatever the compiler does not know the type of", arguments: numberedTypes.indices)
    func generically(index: Int) throws { try readWhileWriting(numberedType(index)) }
}

/// Threads write with every operation and read in every way. They are stopped repeatedly, wherever
/// they are.
@inline(__always)
private func readWhileWriting<Value: Numbered>(_ type: Value.Type) throws {
    let property = Observed(Value(number: 0))
    let mistakes = Log<String>()
    let token = property.observe { change in
        if !change.old!.isWhole || !change.new.isWhole { mistakes.append("an observer received a torn value") }
    }
    let writes = Counter()
    let writers = Hammer(threads: 2) {
        let number = writes.increment()
        switch number % 4 {
        case 0: property.value = Value(number: number)
        case 1: if !property.exchange(Value(number: number)).isWhole { mistakes.append("exchange: torn") }
        case 2:
            property.modify { if $0.isWhole { $0 = Value(number: number) } else { mistakes.append("modify: torn") } }
        default: property.compareExchange(expected: property.value, desired: Value(number: number))
        }
    }
    let readers = [
        Hammer(threads: 1) { if !property.value.isWhole { mistakes.append("value: torn") } },
        Hammer(threads: 1) { if !property.snapshot().value.isWhole { mistakes.append("snapshot: torn") } },
        Hammer(threads: 1) { if !property.withValue({ $0.isWhole }) { mistakes.append("withValue: torn") } },
    ]
    for hammer in readers + [writers] { try hammer.waitUntilWarm() }
    for _ in 0..<200 {
        for reader in readers {
            reader.interrupt()
            briefPause()
        }
        writers.interrupt()
    }
    for hammer in readers + [writers] { try hammer.stop() }
    token.cancel()
    #expect(mistakes.entries.isEmpty)
    #expect(property.value.isWhole)
    try Process.settle()
}
