// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// Strings, arrays and structs in boxes are read in all ways. The threads that replace them
    /// also release them.
    static let magazines = Scenario(
        name: "magazines",
        summary: "strings, arrays and boxes are replaced, read, borrowed, and left to threads that do nothing more",
        invariants: ["P2.whole-value", "P14.not-while-read", "P14.swept"] + checkedAtRest,
        windows: ["a string was borrowed while it was replaced", "a large array was replaced"]
    ) { round in
        let texts = (0..<3).map { Observed(String.whole($0)) }
        let alternating = [String.whole(1), String.whole(2)]
        let numbers = Observed([UInt64].whole(1))
        let block = Observed(Block.whole(1))
        let object = Observed(Leftover())
        leaveBehind(round) { texts[0].value = .whole($0) }
        leaveBehind(round) { _ in object.value = Leftover() }

        round.load { worker in
            let text = texts[Int(worker.generator.below(3))]
            worker.begin("set a fresh string")
            text.value = .whole(worker.uniqueSerial())
            worker.begin("set two strings in turn")
            for number in 0..<4 { text.value = alternating[number & 1] }
            worker.begin("set an array")
            let serial = worker.uniqueSerial()
            if worker.windows[1] == 0 || worker.generator.oneIn(256) {
                numbers.value = Array(repeating: serial, count: 10_000)
                worker.hit(1)
            }
            // The small value replaces the large one, unless another thread has replaced it.
            numbers.value = .whole(serial)
            worker.begin("set a struct in a box")
            for number in 0..<8 as Range<UInt64> { block.value = .whole(serial &+ number) }
            worker.read(block)
            worker.read(text, window: 0)
            worker.read(numbers)
            // Sweeps all magazines while their threads use them.
            if worker.generator.oneIn(64) { ConcurrentObserveDiagnostics.drain(deadline: .now) }
        }
        round.checkRest()
    }
}

/// A value that is too large for the property itself: it has one number three times.
private struct Block: WholeValue {
    let mark, second, third: UInt64

    static func whole(_ number: UInt64) -> Block { Block(mark: number, second: number, third: number) }

    var isWhole: Bool { second == mark && third == mark }
}

private final class Leftover: Sendable {}

extension Worker {
    /// Copies a value and borrows it, and checks both.
    ///
    /// - Parameter window: Hit if the value is replaced while it is borrowed.
    fileprivate func read<Value: WholeValue>(_ property: Observed<Value>, window: Int? = nil) {
        begin("copy")
        let copy = property.value
        if generator.oneIn(64) { sched_yield() }
        check(copy.isWhole, "P2.whole-value", "a value is \(copy)")
        begin("borrow")
        property.withValue { value in
            let (mark, version) = (value.mark, property.version)
            if generator.oneIn(16) { usleep(50) }
            if let window, property.version != version { hit(window) }
            check(value.isWhole, "P14.not-while-read", "a borrowed value is \(value)")
            check(value.mark == mark, "P14.not-while-read", "a borrowed value has become \(value)")
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
