// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import stress

/// Tests of the checker of histories, on histories that are fully known.
@Suite("Histories")
struct HistoryTests {
    private typealias Property = PropertySpecification.Operation
    private typealias Check = Linearizability<PropertySpecification>

    /// Returns an operation of a thread between two moments.
    private static func interval(
        _ thread: Int,
        _ moments: ClosedRange<UInt64>,
        _ operation: Property
    ) -> Interval<Property> {
        Interval(thread: thread, start: moments.lowerBound, end: moments.upperBound, operation: operation)
    }

    @Test("A read that overlaps a set may see either value")
    func overlapping() {
        let set = Self.interval(0, 0...10, .set(7))
        #expect(Check.holds([set, Self.interval(1, 2...3, .read(0))]))
        #expect(Check.holds([set, Self.interval(1, 2...3, .read(7))]))
        #expect(!Check.holds([set, Self.interval(1, 2...3, .read(8))]))
    }

    @Test("A read after a set sees it")
    func realTime() {
        let set = Self.interval(0, 0...10, .set(7))
        #expect(!Check.holds([set, Self.interval(1, 11...12, .read(0))]))
        #expect(Check.holds([set, Self.interval(1, 10...12, .read(0))]), "moments that coincide do not order")
    }

    @Test("One reader sees the new value, and a later one the old")
    func inversion() {
        let set = Self.interval(0, 0...100, .set(7))
        let (new, old) = (Self.interval(1, 1...2, .read(7)), Self.interval(2, 3...4, .read(0)))
        #expect(!Check.holds([set, new, old]))
        #expect(Check.holds([set, old.moved(by: -2), new.moved(by: 2)]))
    }

    @Test("Versions count the changes")
    func versions() {
        let history = [
            Self.interval(0, 0...9, .set(1)), Self.interval(1, 0...9, .exchange(2, old: 1)),
            Self.interval(2, 5...6, .snapshot(value: 1, version: 1)), Self.interval(2, 10...11, .version(2)),
        ]
        #expect(Check.holds(history))
        #expect(!Check.holds(history.dropLast() + [Self.interval(2, 10...11, .version(1))]))
    }

    @Test("Only one of two comparisons with one value succeeds")
    func comparisons() {
        func compare(_ thread: Int, _ exchanged: Bool, _ original: UInt64) -> Interval<Property> {
            let desired = UInt64(thread) + 5
            return Self.interval(
                thread,
                0...9,
                .compareExchange(expected: 0, desired: desired, exchanged: exchanged, original: original)
            )
        }
        #expect(Check.holds([compare(0, true, 0), compare(1, false, 5)]))
        #expect(!Check.holds([compare(0, true, 0), compare(1, true, 0)]))
        #expect(!Check.holds([compare(0, true, 0), compare(1, false, 0)]), "refused though it was equal")
    }

    @Test("A witness keeps what is needed and no observation more")
    func witness() {
        var history: [Interval<Property>] = []
        for index in 0..<10 { history.append(Self.interval(2, UInt64(index * 2)...UInt64(index * 2 + 1), .read(0))) }
        history.append(Self.interval(0, 30...31, .set(7)))
        history.append(Self.interval(1, 40...41, .read(0)))
        history.append(Self.interval(1, 50...51, .read(7)))
        let witness = Check.witness(of: history)
        #expect(witness.map(\.operation.description) == ["value = 7", "value → 0"])
        let chart = HistoryChart.text(witness)
        #expect(chart.contains("value = 7") && chart.split(separator: "\n").count == 4)
    }

    @Test("Sixty-four operations that all overlap are judged at once where any order will do")
    func manyOverlapping() {
        #expect(Check.holds((0..<64).map { Self.interval($0, 0...100, .read(0)) }))
    }

    @Test("An observer is called once by a notification between its observe and its end, else never")
    func observation() {
        typealias Observation = Linearizability<ObservationSpecification>
        func interval(_ thread: Int, _ moments: ClosedRange<UInt64>, _ operation: ObservationSpecification.Operation)
            -> Interval<ObservationSpecification.Operation>
        {
            Interval(thread: thread, start: moments.lowerBound, end: moments.upperBound, operation: operation)
        }
        let (observe, cancel) = (interval(0, 0...1, .observe), interval(0, 10...11, .cancel))
        #expect(Observation.holds([observe, interval(1, 2...3, .notify(calls: 1)), cancel]))
        #expect(!Observation.holds([observe, interval(1, 2...3, .notify(calls: 0)), cancel]))
        #expect(!Observation.holds([observe, interval(1, 2...3, .notify(calls: 2)), cancel]))
        #expect(!Observation.holds([observe, cancel, interval(1, 12...13, .notify(calls: 1))]))
        #expect(Observation.holds([observe, cancel, interval(1, 9...13, .notify(calls: 1))]))
    }
}

extension Interval {
    fileprivate func moved(by step: Int64) -> Interval {
        let move = { (moment: UInt64) in UInt64(Int64(moment) + step) }
        return Interval(thread: thread, start: move(start), end: move(end), operation: operation)
    }
}
