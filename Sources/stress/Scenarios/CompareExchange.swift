// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Threads increment counters with `compareExchange`, and pass values on with `exchange`.
    static let compareExchange = Scenario(
        name: "compare-exchange",
        summary: "counters by compareExchange, and values handed on by exchange: none is lost",
        invariants: [
            "P2.no-lost-update", "P2.each-value-once", "P5.no-lock-around-user-code", "P5.deferred-in-comparison",
        ] + checkedAtRest,
        windows: ["a comparison was repeated or failed", "a value was handed on"]
    ) { round in
        let counter = Observed<UInt64>(0)
        let boxed = Observed(Count(0))
        let handed = Observed<UInt64>(0)
        let totals = (0..<round.threads).map { _ in Totals() }

        round.load { worker in
            let total = totals[worker.index]
            worker.begin("compareExchange")
            var seen = counter.value
            while true {
                let (exchanged, original) = counter.compareExchange(expected: seen, desired: seen + 1)
                if exchanged { break }
                worker.hit(0)
                worker.check(original != seen, "P2.no-lost-update", "refused \(seen), which was there")
                seen = original
            }
            total.counted += 1
            worker.begin("compareExchange, boxed")
            let count = boxed.value
            if boxed.compareExchange(expected: count, desired: Count(count.number + 1)).exchanged {
                total.countedBoxed += 1
            } else {
                worker.hit(0)
            }
            worker.begin("exchange")
            let serial = worker.uniqueSerial()
            total.put &+= serial
            total.got &+= handed.exchange(serial)
            worker.hit(1)
        }

        let counted = totals.reduce(0) { $0 + $1.counted }
        let boxedCount = totals.reduce(0) { $0 + $1.countedBoxed }
        round.check(counter.value == counted, "P2.no-lost-update", "\(counter.value) after \(counted) additions")
        round.check(boxed.value.number == boxedCount && boxed.version == boxedCount, "P2.no-lost-update") {
            "\(boxed.value.number) after \(boxedCount) additions, version \(boxed.version)"
        }
        let (put, got) = totals.reduce((0, handed.value)) { ($0.0 &+ $1.put, $0.1 &+ $1.got) }
        round.check(put == got, "P2.each-value-once", "put \(put), got \(got): sums of the values handed on")
        boxed.value = Count(0)
        round.checkRest()
    }
}

/// The totals of one thread.
private final class Totals: @unchecked Sendable {
    // Unchecked: one thread writes it. Others read it after they have joined that thread.
    var counted: UInt64 = 0
    var countedBoxed: UInt64 = 0
    var put: UInt64 = 0
    var got: UInt64 = 0
}

/// A number in a box. Its `==` checks that it is called under no lock.
private final class Count: Sendable, Equatable {
    let number: UInt64
    init(_ number: UInt64) { self.number = number }

    static func == (left: Count, right: Count) -> Bool {
        checkUserCode("==")
        // The library marks the call of `==` as inside a callback, so `drain` must not wait here.
        if left.number & 1023 == 1023 {
            let outcome = ConcurrentObserveDiagnostics.drain(deadline: .now)
            Worker.current?.check(outcome == .deferred, "P5.deferred-in-comparison", "drain in == returned \(outcome)")
        }
        return left.number == right.number
    }
}
