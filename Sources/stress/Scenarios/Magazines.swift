// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// Strings, arrays and structs in boxes are read in all ways. The threads that replace them
    /// also release them.
    static let magazines = Scenario(
        name: "magazines",
        summary: "strings, arrays and boxes are replaced, read, borrowed, and left to threads that do nothing more",
        invariants: ["P2.whole-value", "P14.not-while-read", "P14.swept", "P16.backlog-drains", "P14.nothing-left"],
        windows: ["a string was borrowed while it was replaced", "a large array was replaced"]
    ) { round in
        let texts = (0..<3).map { Observed(Text.make(UInt64($0))) }
        let numbers = Observed(Numbers.make(1))
        let block = Observed(Block(1))
        let object = Observed(Leftover())
        leaveBehind(round) { texts[0].value = Text.make($0) }
        leaveBehind(round) { _ in object.value = Leftover() }

        round.load { worker in
            let text = texts[Int(worker.generator.below(3))]
            worker.begin("set a fresh string")
            text.value = Text.make(worker.uniqueSerial())
            worker.begin("set two strings in turn")
            for number in 0..<4 { text.value = Text.alternating[number & 1] }
            worker.begin("set an array")
            let serial = worker.uniqueSerial()
            if worker.windows[1] == 0 || worker.generator.oneIn(256) {
                numbers.value = Numbers.large(serial)
                worker.hit(1)
            }
            // The small value replaces the large one, unless another thread has replaced it.
            numbers.value = Numbers.make(serial)
            worker.begin("set a struct in a box")
            for number in 0..<8 as Range<UInt64> { block.value = Block(serial &+ number) }
            worker.borrow(block)
            worker.begin("copy a string")
            let copy = text.value
            if worker.generator.oneIn(64) { sched_yield() }
            worker.check(Text.isWhole(copy), "P2.whole-value", "a string is \(copy)")
            worker.borrow(text, numbers)
            // Sweeps all magazines while their threads use them.
            if worker.generator.oneIn(64) { ConcurrentObserveDiagnostics.drain(deadline: .now) }
        }
        round.checkRest()
    }
}

/// Makes strings that are too long to be stored inline. Each has one letter, repeated a number of
/// times that depends on the letter.
private enum Text {
    static let alternating = [make(1), make(2)]

    static func make(_ serial: UInt64) -> String {
        let letter = UInt8(ascii: "a") + UInt8(serial % 26)
        return String(decoding: repeatElement(letter, count: length(letter)), as: UTF8.self)
    }

    private static func length(_ letter: UInt8) -> Int { 16 + Int(letter & 15) }

    static func isWhole(_ text: String) -> Bool {
        guard let first = text.utf8.first else { return false }
        return text.utf8.count == length(first) && text.utf8.allSatisfy { $0 == first }
    }
}

/// Makes arrays that have one number many times.
private enum Numbers {
    static func make(_ serial: UInt64) -> [UInt64] { Array(repeating: serial, count: 3 + Int(serial & 7)) }
    static func large(_ serial: UInt64) -> [UInt64] { Array(repeating: serial, count: 10_000) }
    static func isWhole(_ numbers: [UInt64]) -> Bool { numbers.allSatisfy { $0 == numbers[0] } }
}

/// A value that is too large for the property itself: it has one number three times.
private struct Block: Sendable {
    let (first, second, third): (UInt64, UInt64, UInt64)

    init(_ serial: UInt64) { (first, second, third) = (serial, serial, serial) }

    var isWhole: Bool { second == first && third == first }
}

private final class Leftover: Sendable {}

extension Worker {
    fileprivate func borrow(_ block: Observed<Block>) {
        begin("copy a struct in a box")
        let copy = block.value
        check(copy.isWhole, "P2.whole-value", "a struct is \(copy)")
        begin("borrow a struct in a box")
        block.withValue { value in
            if generator.oneIn(16) { usleep(50) }
            check(value.isWhole, "P14.not-while-read", "a borrowed struct is \(value)")
        }
    }
}

extension Worker {
    fileprivate func borrow(_ text: Observed<String>, _ numbers: Observed<[UInt64]>) {
        begin("borrow a string")
        text.withValue { value in
            let first = value.utf8.first
            let version = text.version
            if generator.oneIn(16) { usleep(50) }
            if text.version != version { hit(0) }
            check(Text.isWhole(value), "P14.not-while-read", "a borrowed string is \(value)")
            check(value.utf8.first == first, "P14.not-while-read", "a borrowed string has become \(value)")
        }
        begin("borrow an array")
        numbers.withValue { value in
            let first = value[0]
            if generator.oneIn(16) { sched_yield() }
            check(Numbers.isWhole(value), "P14.not-while-read", "a borrowed array is \(value)")
            check(value[0] == first, "P14.not-while-read", "a borrowed array has become one of \(value[0])")
        }
    }
}

/// Runs a thread that changes a property a few times, and then does not use the library any more.
/// Checks that the replaced values are released nevertheless, in most cases soon. (The library's
/// thread looks once a second without a signal.)
private func leaveBehind(_ round: Round, _ replace: @escaping @Sendable (UInt64) -> Void) {
    let limit: UInt64 = 300_000_000 * Sanitizer.slowdown
    var late = 0
    for attempt in 0..<5 as Range<UInt64> {
        // So long that the library's thread sleeps.
        usleep(15_000)
        JoinableThread { for serial in 0...(attempt & 1) { replace(serial) } }.join()
        if round.isFaulted { return }
        let start = nanoseconds()
        while ConcurrentObserveDiagnostics.current().backlog > 0, nanoseconds() - start < limit { usleep(500) }
        if ConcurrentObserveDiagnostics.current().backlog > 0 {
            late += 1
            WaitInVain.note(limit)
        }
    }
    round.check(late < 3, "P14.swept") {
        "\(late) times of 5 what a thread had replaced was not released after \(limit) ns"
    }
}
