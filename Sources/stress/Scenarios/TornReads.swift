// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// Values of several words, stored in the property or in a box, are read in all ways while
    /// others change them without a pause.
    static let tornReads = Scenario(
        name: "torn-reads",
        summary: "values of several words are read while writers change them without a pause",
        invariants: [
            "P2.whole-value", "P2.version-fits", "P2.never-backwards", "P14.not-while-read", "P14.value-destroyed",
            "P5.no-lock-around-user-code",
        ] + checkedAtRest,
        windows: ["the property changed during a read", "a value was borrowed while it was replaced"],
        leastThreads: 3
    ) { round in
        let pair = Observed(Pair(0))
        let boxed = Observed(TrackedValue(serial: 0))
        let readers = max(1, round.threads / 2)
        // The numbers of the values are their versions: the values are made in the bodies of
        // `modify`.
        round.load([
            Round.Role(threads: round.threads - readers) { worker in
                worker.begin("modify a pair")
                for _ in 0..<8 { pair.modify { $0 = Pair($0.first + 1) } }
                guard worker.generator.oneIn(4) else { return }
                worker.begin("modify a boxed value")
                boxed.modify { $0 = TrackedValue(serial: $0.serial + 1) }
            },
            Round.Role(threads: readers) { worker in
                worker.begin("read a pair")
                let before = pair.version
                if worker.generator.oneIn(64) { sched_yield() }
                let read = pair.value
                let (value, version) = pair.snapshot()
                if pair.version != before { worker.hit(0) }
                worker.check(read.isWhole && value.isWhole, "P2.whole-value", "\(read) \(value)")
                worker.check(value.first == version, "P2.version-fits", "value \(value.first) with version \(version)")
                worker.check(before <= read.first && read.first <= value.first, "P2.never-backwards") {
                    "version \(before), then value \(read.first), then \(value.first)"
                }
                worker.readBoxed(boxed)
            },
        ])

        let last = boxed.value.probe
        round.check(last.destroyed == 0, "P14.not-while-read", "the present value is destroyed")
        boxed.value = TrackedValue(serial: .max)
        round.checkRest()
        round.check(last.destroyed == 1, "P14.value-destroyed") {
            "a replaced value was destroyed \(last.destroyed) times"
        }
    }
}

/// Two words that belong together.
private struct Pair: Sendable {
    let first: UInt64
    private let second: UInt64

    init(_ number: UInt64) { (first, second) = (number, ~number &* 0x9E37_79B9_7F4A_7C15) }

    var isWhole: Bool { second == ~first &* 0x9E37_79B9_7F4A_7C15 }
}

extension Worker {
    fileprivate func readBoxed(_ boxed: Observed<TrackedValue>) {
        begin("read a boxed value")
        let before = boxed.version
        let (value, version) = boxed.snapshot()
        check(value, "after it was copied")
        check(value.serial == version, "P2.version-fits", "value \(value.serial) with version \(version)")
        check(before <= version, "P2.never-backwards", "version \(before), then \(version)")
        begin("borrow a boxed value")
        boxed.withValue { value in
            check(value, "when it is borrowed")
            let borrowed = value.serial
            if generator.oneIn(64) { usleep(3_000) }
            if boxed.version != borrowed { hit(1) }
            check(value, "while it is borrowed")
            check(value.serial == borrowed, "P2.whole-value") {
                "a borrowed value changed from \(borrowed) to \(value.serial)"
            }
        }
    }
}
