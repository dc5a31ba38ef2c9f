// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    /// Values whose destruction runs no user code: strings and collections of such elements.
    @Suite("P14 Values that the thread which replaces them releases")
    struct P14MagazineTests {}
}

extension Promises.P14MagazineTests {
    /// A property, and a value that was put into it. The value's memory shows whether anything else
    /// references it: then a change in place copies nothing.
    class Probe {
        func replace() {}
        func borrow(_ body: () -> Void) {}
        var isSole: Bool { false }
    }

    private final class ProbeOf<Value: Sendable & Equatable>: Probe {
        private let make: @Sendable () -> Value
        private let address: (inout Value) -> UInt
        private var value: Value
        private let before: UInt
        private let property: Observed<Value>

        init(_ make: @escaping @Sendable () -> Value, _ address: @escaping (inout Value) -> UInt) {
            (self.make, self.address) = (make, address)
            value = make()
            before = address(&value)
            property = Observed(value)
        }

        override func replace() { property.value = make() }

        override func borrow(_ body: () -> Void) {
            property.withValue { lent in
                body()
                #expect(copy lent == make())
            }
        }

        override var isSole: Bool { address(&value) == before }
    }

    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let makeProbe: @Sendable () -> Probe

        fileprivate init<Value: Sendable & Equatable>(
            _ name: String,
            _ make: @escaping @Sendable () -> Value,
            _ address: @escaping @Sendable (inout Value) -> UInt
        ) {
            testDescription = name
            makeProbe = { ProbeOf(make, address) }
        }

        static let all = [
            Kind("string", { reserved("a text that does not fit into the property") }, stringAddress),
            Kind("array", { [1, 2, 3] }, arrayAddress),
            Kind("array of strings", { ["a text that does not fit into the property", "b"] }, arrayAddress),
            Kind("array of arrays", { [[1], [2]] }, arrayAddress),
            Kind("large array", { [Int](repeating: 1, count: 100_000) }, arrayAddress),
            Kind("optional array", { Optional([1, 2, 3]) }, { arrayAddress(&$0!) }),
            Kind(
                "optional string",
                { Optional(reserved("a text that does not fit into it")) },
                { stringAddress(&$0!) }
            ),
            Kind(
                "struct",
                { TextAndNumber(text: reserved("a text that does not fit into it"), number: 1) },
                { stringAddress(&$0.text) }
            ),
            Kind(
                "optional struct",
                { Optional(TextAndNumber(text: reserved("a text that does not fit into it"), number: 1)) },
                { stringAddress(&$0!.text) }
            ),
            Kind("array of structs", { [TextAndNumber(text: "a", number: 1)] }, arrayAddress),
            Kind("struct of one array", { NumberList(numbers: [1, 2]) }, { arrayAddress(&$0.numbers) }),
            Kind("optional of an optional", { Optional(Optional([1, 2])) }, { arrayAddress(&$0!!) }),
        ]
    }
}

private struct TextAndNumber: Sendable, Equatable {
    var text: String
    var number: Int
}

private struct NumberList: Sendable, Equatable {
    var numbers: [Int]
}

private struct Mortals: Sendable {
    let life: Life
    let number = 0
}

private func reserved(_ text: String) -> String {
    var text = text
    text.reserveCapacity(200)
    return text
}

@Sendable
private func arrayAddress<Element>(_ array: inout [Element]) -> UInt {
    // Safe: an address only, whose buffer is the array's own.
    unsafe array.withUnsafeMutableBufferPointer { UInt(bitPattern: $0.baseAddress) }
}

@Sendable
private func stringAddress(_ string: inout String) -> UInt {
    string.append("!")
    defer { string.removeLast() }
    // Safe: as above.
    return unsafe string.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) } ?? 0
}

extension Promises.P14MagazineTests {
    @Test("P14 A replaced value is released before a drain returns", arguments: Kind.all)
    func released(kind: Kind) throws {
        let probe = kind.makeProbe()
        probe.replace()
        try Process.settle()
        #expect(probe.isSole)
    }

    @Test("P14 A replaced value is released, without further traffic", arguments: Kind.all)
    func swept(kind: Kind) throws {
        try Process.settle()
        let probe = kind.makeProbe()
        probe.replace()
        try eventually("nothing waits to be released") { ConcurrentObserveDiagnostics.current().backlog == 0 }
        #expect(probe.isSole)
    }

    @Test("P14 A value that is borrowed is released after that", arguments: Kind.all)
    func borrowed(kind: Kind) throws {
        let probe = kind.makeProbe()
        probe.borrow { for _ in 0..<200 { probe.replace() } }
        try Process.settle()
        #expect(probe.isSole)
    }

    @Test("P5 The thread that replaces a value does not destroy it if that may run user code")
    func notDestroyedByItsWriter() throws {
        let lives = Lives()
        try onNewThread {
            let own = threadNumber()
            let object = Observed(lives.make())
            let text = Observed(Mortals(life: lives.make()))
            let array = Observed([lives.make()])
            for _ in 0..<1_000 {
                object.value = lives.make()
                text.value = Mortals(life: lives.make())
                array.value = [lives.make()]
            }
            check(!lives.deathThreads.contains(own), "a value is destroyed by its writer")
        }
        try Process.settle()
        #expect(lives.alive == 0)
    }

    @Test("P16 Large values that wait to be destroyed are few")
    func heavy() throws {
        try Process.settle()
        let (property, optional) = (Observed([UInt8]()), Observed<[UInt8]?>(nil))
        for round in 0..<200 {
            let before = ConcurrentObserveDiagnostics.current()
            property.value = [UInt8](repeating: UInt8(round), count: 60_000)
            optional.value = [UInt8](repeating: UInt8(round), count: 60_000)
            #expect(before.backlog < 64, "\(before.backlog) values of 60,000 bytes wait")
        }
    }

    @Test("P2 A part of a value is read alone")
    func parts() {
        let property = Observed(TextAndNumber(text: "a", number: 7))
        #expect(property.value(\.number) == 7)
        #expect(property.value(\.text.count) == 1)
    }

    @Test("P14 Many values, one after the other: the last is whole, and all others are released")
    func many() throws {
        try Process.settle()
        let property = Observed<[String: Int]?>(nil)
        let copies = (0..<1_000).map { number -> [String: Int]? in
            property.value = number % 7 == 0 ? nil : ["a key that is longer than fifteen bytes, \(number)": number]
            return property.value
        }
        for (number, copy) in copies.enumerated() {
            #expect(copy?.values.first == (number % 7 == 0 ? nil : number))
        }
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().backlog == 0)
    }

    @Test("P14 In a process of very many threads the library's thread releases such values", arguments: Kind.all)
    func manyRecords(kind: Kind) throws {
        let all = Counter()
        try onThreads(300) { _ in
            Observed("a text that does not fit into the property").value = ""
            all.increment()
            while all.value < 300 { briefPause() }
        }
        let probe = kind.makeProbe()
        for _ in 0..<300 { probe.replace() }
        probe.borrow { for _ in 0..<300 { probe.replace() } }
        try Process.settle()
        #expect(probe.isSole)
        #expect(ConcurrentObserveDiagnostics.current().backlog == 0)
    }

    @Test("P16 What is retired, and what reclaimed, never becomes less")
    func countsGrow() throws {
        let property = Observed([1])
        let isDone = Slot<Bool>(false)
        let looker = TestThread {
            var last = ConcurrentObserveDiagnostics.current()
            while isDone.value == false {
                let next = ConcurrentObserveDiagnostics.current()
                check(next.retired >= last.retired, "\(next.retired) after \(last.retired) are retired")
                check(next.reclaimed >= last.reclaimed, "\(next.reclaimed) after \(last.reclaimed) are reclaimed")
                check(next.backlog >= 0, "the backlog is \(next.backlog)")
                last = next
            }
        }
        try onThreads(2) { _ in
            for round in 0..<3_000 { property.withValue { _ in property.value = [round] } }
        }
        isDone.put(true)
        try looker.join()
        try Process.settle()
        let rest = ConcurrentObserveDiagnostics.current()
        #expect(rest.retired == rest.reclaimed)
    }

    @Test("P2 Every way to change such a value, and to read it")
    func forms() {
        let property = Observed<Set<Int>>([])
        property.value = [1]
        #expect(property.exchange([1, 2]) == [1])
        property.modify { $0.insert(3) }
        #expect(property.compareExchange(expected: [1, 2, 3], desired: []).exchanged)
        #expect(!property.compareExchange(expected: [1], desired: [9]).exchanged)
        #expect(property.snapshot().value.isEmpty)
        #expect(property.withValue { $0.count } == 0)
        #expect(property.version == 4)
    }

    @Test("P2 A value is whole while others replace it")
    func whole() throws {
        let property = Observed(ContiguousArray(repeating: 0, count: 8))
        try onThreads(4) { index in
            for round in 0..<2_000 {
                if index < 2 {
                    property.value = ContiguousArray(repeating: round, count: 8)
                } else {
                    let value = property.value
                    check(value.allSatisfy { $0 == value[0] }, "\(value)")
                }
            }
        }
    }
}
