// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import HeapSize
import Testing

extension Promises {
    /// Values that are not plain bits of up to two words, in boxes that a thread recycles.
    @Suite("P14 Boxes that are recycled")
    struct P14BoxTests {}
}

private struct Numbers: Sendable, Equatable {
    var (first, second, third, fourth, fifth): (Int, Int, Int, Int, Int)

    init(_ number: Int) { (first, second, third, fourth, fifth) = (number, number, number, number, number) }

    var isWhole: Bool { self == Numbers(first) }
}

private struct Wide: Sendable {
    var vector: SIMD8<Int>
}

/// A value that fits into the largest box which is recycled.
private struct Large: Sendable {
    private typealias Words = (Int, Int, Int, Int, Int, Int, Int, Int)
    private let words: (Words, Words, Words, Words)

    init(number: Int) {
        let eight = (number, number, number, number, number, number, number, number)
        words = (eight, eight, eight, eight)
    }
}

/// A value whose alignment is stricter than its box's.
private struct WideMortal: Sendable {
    let vector: SIMD8<Int>
    let life: Life
}

extension Promises.P14BoxTests {
    @Test("P2 A value that is lent stays what it is, however often its property is set meanwhile")
    func lent() throws {
        let (numbers, text) = (Observed(Numbers(-1)), Observed("the first of the texts"))
        numbers.withValue { lent in
            text.withValue { lentText in
                for number in 0..<1_000 {
                    numbers.value = Numbers(number)
                    text.value = "the text of number \(number)"
                    check(lent == Numbers(-1) && lentText == "the first of the texts", "at \(number)")
                }
            }
        }
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().backlog == 0)
    }

    @Test("P2 Readers find whole values while others recycle their boxes")
    func whole() throws {
        let (numbers, text) = (Observed(Numbers(0)), Observed("the text of number 0"))
        try onThreads(4) { index in
            for round in 0..<20_000 {
                if index < 2 {
                    numbers.value = Numbers(round)
                    text.value = "the text of number \(round)"
                } else {
                    let copy = numbers.value
                    check(copy.isWhole, "\(copy)")
                    numbers.withValue { lent in
                        let first = lent.first
                        briefPauseNowAndThen(round)
                        check(lent == Numbers(first), "\(lent), before: \(first)")
                    }
                    text.withValue { lent in check(lent.hasPrefix("the text of number "), lent) }
                }
            }
        }
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().backlog == 0)
    }

    @Test("P2 A value that is aligned more strictly than its box is where its readers look")
    func aligned() {
        let property = Observed(Wide(vector: SIMD8(repeating: 0)))
        for number in 1..<300 {
            property.value = Wide(vector: SIMD8(repeating: number))
            #expect(property.value.vector == SIMD8(repeating: number))
        }
    }

    @Test("P14 A value that is aligned more strictly than its box is destroyed where it is, once")
    func destroyedWhereItIs() throws {
        let lives = Lives()
        try onNewThread {
            let property = Observed(WideMortal(vector: SIMD8(repeating: 0), life: lives.make()))
            for number in 1..<10_000 {
                property.value = WideMortal(vector: SIMD8(repeating: number), life: lives.make())
            }
        }
        try Process.settle()
        #expect(lives.alive == 0)
        #expect(lives.dead == 10_000)
    }

    @Test("P16 Threads that do nothing more keep no boxes")
    func idle() throws {
        let (threadCount, before) = (64, heap_bytes_in_use())
        let (filled, isDone) = (Counter(), Flag())
        let threads = (0..<threadCount).map { _ in
            TestThread {
                let property = Observed(Large(number: 0))
                // The second magazine that is released leaves 128 boxes of 256 bytes.
                for number in 0..<257 { property.value = Large(number: number) }
                filled.increment()
                while !isDone.isSet { briefPause() }
                withExtendedLifetime(property) {}
            }
        }
        try eventually("the last change") { filled.value == threadCount }
        // Everything else that belongs to a thread takes less than half of this bound.
        try eventually("the end of the boxes") {
            Int(heap_bytes_in_use()) - Int(before) < threadCount * 10_000
        }
        isDone.set()
        for thread in threads { try thread.join() }
    }
}

private func briefPauseNowAndThen(_ round: Int) { if round % 512 == 0 { briefPause() } }
