// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Observation options")
    struct ObservationOptionsTests {}
}

// MARK: - Which side

extension Promises.ObservationOptionsTests {
    @Test("A change has the sides that were asked for: none, new, old, by default both")
    func sides() {
        let property = Observed(0)
        let told = (0..<5).map { _ in Told<Int>() }
        let options: [ObservationOptions] = [[], .new, .old, [.old, .new]]
        var tokens = zip(told, options).map { property.observe($0, options: $1) }
        tokens.append(property.observe { [told] change in told[4].append(change) })
        property.value = 1
        #expect(
            told.map(\.lines) == [
                ["valueChanged - → - @1"], ["valueChanged - → 1 @1"], ["valueChanged 0 → - @1"],
                ["valueChanged 0 → 1 @1"], ["valueChanged 0 → 1 @1"],
            ]
        )
        withExtendedLifetime(tokens) {}
    }

    @Test("The initial delivery never has an old value, and a new one if it was asked for")
    func initialSides() {
        let property = Observed(7)
        let told = (0..<4).map { _ in Told<Int>() }
        let options: [ObservationOptions] = [.initial, .initial, [.initial, .old], .initial]
        let tokens = zip(told, options).map { property.observe($0, options: $1) }
        #expect(
            told.flatMap(\.lines) == ["initial - → - @0", "initial - → 7 @0", "initial - → - @0", "initial - → 7 @0"]
        )
        property.value = 8
        #expect(
            told.map { $0.lines.last } == [
                "valueChanged - → - @1", "valueChanged - → 8 @1", "valueChanged 7 → - @1", "valueChanged 7 → 8 @1",
            ]
        )
        #expect(told.allSatisfy { $0.count == 2 })
        withExtendedLifetime(tokens) {}
    }

    @Test("Of an optional, nil is a value, not the lack of one")
    func optional() {
        let property = Observed<String?>(nil)
        let (told, one) = (Told<String?>(), Told<String?>())
        let heard = Log<String?>()
        let tokens = [
            property.observe(told, options: .initial), property.observe(one),
            property.observeValues(includingInitial: true) { heard.append($0) },
        ]
        for value in ["a", nil, nil] as [String?] { property.value = value }
        #expect(
            told.changes.map(\.new) == [.some(nil), .some("a"), .some(nil), .some(nil)] as [String??]
        )
        #expect(told.changes.map(\.old) == [nil, .some(nil), .some("a"), .some(nil)] as [String??])
        #expect(one.changes.map(\.new) == [nil, nil, nil] as [String??])
        #expect(heard.entries == [nil, "a", nil, nil])
        withExtendedLifetime(tokens) {}
    }

    @Test("observeValues hears every new value, with the present one first if it was asked for, and no end")
    func values() throws {
        let property = Slot(Observed(1))
        let (all, later) = (Log<Int>(), Log<Int>())
        let tokens = [
            property.value!.observeValues(includingInitial: true) { all.append($0) },
            property.value!.observeValues { later.append($0) },
        ]
        #expect(all.entries == [1])
        property.value!.value = 2
        property.value!.modify { _ in }
        property.clear()
        #expect(all.entries == [1, 2, 2])
        #expect(later.entries == [2, 2])
        #expect(tokens.allSatisfy { !$0.isActive })
    }
}

// MARK: - Before the change

extension Promises.ObservationOptionsTests {
    @Test("With prior, a change is told twice: first with the old value alone, while the property has it, then made")
    func prior() {
        let property = Observed(0)
        let seen = Log<String>()
        let told = Told<Int>()
        let token = property.observe(options: .prior) { (change: Change<Int>) in
            told.append(change)
            seen.append("\(change.isPrior) \(property.value)")
        }
        property.value = 1
        property.exchange(2)
        #expect(
            told.lines == [
                "prior 0 → - @0", "valueChanged 0 → 1 @1", "prior 1 → - @1", "valueChanged 1 → 2 @2",
            ]
        )
        #expect(told.changes.allSatisfy { $0.reason == .valueChanged })
        #expect(seen.entries == ["true 0", "false 1", "true 1", "false 2"])
        withExtendedLifetime(token) {}
    }

    @Test("A prior delivery has the old value only if it was asked for")
    func priorSides() {
        let property = Observed(0)
        let told = (0..<3).map { _ in Told<Int>() }
        let options: [ObservationOptions] = [.prior, [.prior, .new], [.prior, .old]]
        let tokens = zip(told, options).map { property.observe($0, options: $1) }
        property.value = 1
        #expect(told.map { $0.lines[0] } == ["prior - → - @0", "prior - → - @0", "prior 0 → - @0"])
        #expect(told.allSatisfy { $0.count == 2 })
        withExtendedLifetime(tokens) {}
    }

    @Test("modify and compareExchange send no prior delivery")
    func withoutPrior() {
        let property = Observed("a")
        let told = Told<String>()
        let token = property.observe(told, options: [.prior, .initial, .old, .new])
        property.modify { $0 = "b" }
        property.compareExchange(expected: "b", desired: "c")
        #expect(told.lines == ["initial - → a @0", "valueChanged a → b @1", "valueChanged b → c @2"])
        withExtendedLifetime(token) {}
    }

    @Test("Those who have not asked hear nothing before the change; all prior deliveries come first")
    func priorBesideOthers() {
        let property = Observed(0)
        let order = Log<String>()
        let tokens = [[.new], [.prior], [.prior, .new]].enumerated().map { index, options in
            property.observe(options: options) { (change: Change<Int>) in
                order.append("\(index) \(change.isPrior)")
            }
        }
        property.value = 1
        #expect(order.entries == ["1 true", "2 true", "0 false", "1 false", "2 false"])
        tokens[1].cancel()
        tokens[2].cancel()
        property.value = 2
        #expect(order.entries.dropFirst(5) == ["0 false"])
    }

    @Test("An observer that ends itself in the prior delivery does not hear the change")
    func endsInPrior() {
        let property = Observed(0)
        let told = Told<Int>()
        let token = property.observe(options: [.prior, .old]) { change, observation in
            told.append(change)
            observation.cancel()
        }
        property.value = 1
        #expect(told.lines == ["prior 0 → - @0"])
        #expect(property.value == 1)
        #expect(!token.isActive)
    }
}

// MARK: - Equal values

extension Promises.ObservationOptionsTests {
    @Test("An equal value is silent when duplicates are removed, and delivered otherwise")
    func duplicates() {
        let property = Observed("a")
        let (all, distinct) = (Told<String>(), Told<String>())
        let tokens = [
            property.observe(removingDuplicates: false) { all.append($0) },
            property.observe(removingDuplicates: true) { distinct.append($0) },
        ]
        for value in ["a", "b", "b", "a"] { property.value = value }
        property.modify { _ in }
        #expect(all.versions == [1, 2, 3, 4, 5])
        #expect(distinct.lines == ["valueChanged a → b @2", "valueChanged b → a @4"])
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "Without duplicates, the options decide what is told, as ever",
        arguments: [[], .new, .old] as [ObservationOptions]
    )
    func duplicatesWithOptions(sides: ObservationOptions) throws {
        let property = Slot(Observed<Int?>(nil))
        let (plain, distinct) = (Told<Int?>(), Told<Int?>())
        let options = sides.union([.initial, .prior])
        let tokens = [
            property.value!.observe(plain, options: options),
            property.value!.observe(removingDuplicates: true, options: options) { distinct.append($0) },
        ]
        property.value!.value = 1
        property.value!.value = nil
        #expect(distinct.lines == plain.lines)
        // The second is equal: its prior delivery comes in any case, for nobody knows yet.
        property.value!.value = nil
        #expect(plain.count == 7)
        #expect(distinct.count == 6)
        property.clear()
        #expect(distinct.changes.last == plain.changes.last)
        #expect(distinct.changes.last?.reason == .sourceDeleted)
        withExtendedLifetime(tokens) {}
    }
}
