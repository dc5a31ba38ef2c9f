// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P21 The number of a commit")
    struct P21CommitNumberTests {}
}

extension Promises.P21CommitNumberTests {
    @Test("P21 All changes of a commit have one number, however they are delivered; the next commit has another")
    func oneNumber() async {
        let (first, second, weak) = (Observed(0), Observed("a"), WeakObserved<Referent>())
        let car = Car(1)
        let fleet = Fleet(car)
        let referent = Referent("a referent")
        let log = Log<UInt64?>()
        let tokens = [
            first.observe { log.append($0.commit) },
            first.readOnly.removingDuplicates().observe { log.append($0.commit) },
            second.observe(delivery: .serial()) { log.append($0.commit) },
            weak.observe { log.append($0.commit) },
            Group(first, second).observe { log.append($0.commit) },
            PropertyList([first]).observe(delivery: .serial()) { log.append($0.commit) },
            fleet.property(\.car.mileage).observe { log.append($0.commit) },
        ]
        let group = Group(Group(first, second), Group(weak, car.mileage))
        func commit() {
            group.commit { transaction in
                transaction[first] += 1
                transaction[second] += "b"
                transaction[weak] = referent
                transaction[car.mileage] += 1
            }
        }
        commit()
        let number = log.entries[0]
        #expect(number != nil && log.entries.allSatisfy { $0 == number } && log.count == tokens.count)
        commit()
        let others = log.entries.dropFirst(tokens.count)
        #expect(others.count == tokens.count && others.allSatisfy { $0 == others.first! && $0 != nil && $0 != number })
    }

    @Test(
        "P21 Changes outside a commit have no number: sets, modify, comparisons, initial and prior deliveries"
    )
    func none() {
        let (first, second) = (Observed(0), Observed(0))
        let log = Log<UInt64?>()
        let tokens = [
            first.observe(options: [.initial, .prior]) { log.append($0.commit) },
            Group(first, second).observe(options: .initial) { log.append($0.commit) },
        ]
        first.value = 1
        first.modify { $0 += 1 }
        first.compareExchange(expected: 2, desired: 3)
        #expect(log.count == 9 && log.entries.allSatisfy { $0 == nil })
        withExtendedLifetime(tokens) {}
    }

    @Test("P21 A group delivers a commit's change with its number, and a callback's own change without one")
    func between() {
        let (first, second) = (Observed(0), Observed(0))
        let group = Group(first, second)
        let log = Log<String>()
        let token = group.observe { log.append("\($0.new.0) \($0.new.1) \($0.commit != nil)") }
        let starter = first.observe { change in if change.new == 1 { second.value = 7 } }
        group.commit { transaction in
            transaction[first] = 1
            transaction[second] = 1
        }
        #expect(log.entries == ["1 1 true", "1 7 false"])
        withExtendedLifetime((token, starter)) {}
    }

    @Test("P21 Commits of several threads have different numbers")
    func threads() throws {
        let log = Log<UInt64?>()
        let threads = (0..<4).map { _ in
            TestThread {
                let property = Observed(0)
                let token = property.observe { log.append($0.commit) }
                for _ in 0..<1_000 { PropertyList([property]).commit { transaction in transaction[property] += 1 } }
                token.cancel()
            }
        }
        for thread in threads { try thread.join() }
        #expect(Set(log.entries.compactMap { $0 }).count == 4_000)
    }

    @Test("A test can make a change that belongs to a commit")
    func made() {
        let change = Change(reason: .valueChanged, old: 1, new: 2, version: 3, commit: 4)
        #expect(change.commit == 4 && change != Change(reason: .valueChanged, old: 1, new: 2, version: 3))
    }
}
