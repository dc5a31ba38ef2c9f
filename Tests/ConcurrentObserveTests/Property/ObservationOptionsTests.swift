// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Observation options")
    struct ObservationOptionsTests {}
}

// MARK: - Both sides

extension Promises.ObservationOptionsTests {
    @Test("A change has both values, whatever the options; without options nothing else is received")
    func sides() {
        let property = Observed(0)
        let received = (0..<5).map { _ in ReceivedChanges<Int>() }
        let options: [ObservationOptions] = [[], .initial, .prior, [.initial, .prior]]
        var tokens = zip(received, options).map { property.observe($0, options: $1) }
        tokens.append(property.observe { [received] change in received[4].append(change) })
        property.value = 1
        #expect(
            received.map(\.lines) == [
                ["valueChanged 0 → 1 @1"], ["initial - → 0 @0", "valueChanged 0 → 1 @1"],
                ["prior - → 0 @0", "valueChanged 0 → 1 @1"],
                ["initial - → 0 @0", "prior - → 0 @0", "valueChanged 0 → 1 @1"], ["valueChanged 0 → 1 @1"],
            ]
        )
        withExtendedLifetime(tokens) {}
    }

    @Test("The initial delivery has the present value as its new one, and no old value")
    func initialSides() {
        let property = Observed(7)
        let received = (0..<2).map { _ in ReceivedChanges<Int>() }
        let options: [ObservationOptions] = [.initial, [.initial, .prior]]
        let tokens = zip(received, options).map { property.observe($0, options: $1) }
        #expect(received.flatMap(\.lines) == ["initial - → 7 @0", "initial - → 7 @0"])
        property.value = 8
        #expect(received.map { $0.lines.last } == ["valueChanged 7 → 8 @1", "valueChanged 7 → 8 @1"])
        #expect(received.map(\.count) == [2, 3])
        withExtendedLifetime(tokens) {}
    }

    @Test("A change is made by tests of code that receives one, and is equal to one that the library makes")
    func made() {
        let property = Observed("a")
        let received = ReceivedChanges<String>()
        let token = property.observe(received, options: [.initial, .prior])
        property.value = "b"
        let made = [
            Change(reason: .initial, old: nil, new: "a", version: 0),
            Change(reason: .prior, old: nil, new: "a", version: 0),
            Change(reason: .valueChanged, old: "a", new: "b", version: 1),
        ]
        #expect(received.changes == made)
        let unlike = [
            Change(reason: .pathChanged(depth: 0), old: "a", new: "b", version: 1),
            Change(reason: .valueChanged, old: nil, new: "b", version: 1),
            Change(reason: .valueChanged, old: "a", new: "c", version: 1),
            Change(reason: .valueChanged, old: "a", new: "b", version: 2),
        ]
        #expect(unlike.allSatisfy { $0 != made[2] })
        withExtendedLifetime(token) {}
    }

    @Test("An optional's nil is a value, not the lack of one")
    func optional() {
        let property = Observed<String?>(nil)
        let (received, one) = (ReceivedChanges<String?>(), ReceivedChanges<String?>())
        let values = Log<String?>()
        let tokens = [
            property.observe(received, options: .initial), property.observe(one),
            property.observeValues(options: .initial) { values.append($0) },
        ]
        for value in ["a", nil, nil] as [String?] { property.value = value }
        #expect(
            received.changes.map(\.new) == [nil, "a", nil, nil]
        )
        #expect(received.changes.map(\.old) == [nil, .some(nil), .some("a"), .some(nil)] as [String??])
        #expect(one.changes.map(\.new) == ["a", nil, nil])
        #expect(values.entries == [nil, "a", nil, nil])
        withExtendedLifetime(tokens) {}
    }

    @Test("observeValues receives every new value, with the present one first if it was asked for, and no end")
    func values() throws {
        let property = Slot(Observed(1))
        let (all, later) = (Log<Int>(), Log<Int>())
        let tokens = [
            property.value!.observeValues(options: .initial) { all.append($0) },
            property.value!.observeValues { later.append($0) },
        ]
        #expect(all.entries == [1])
        property.value!.value = 2
        property.value!.modify { _ in }
        let ends = ReceivedChanges<Int>()
        for token in tokens { token.recordEnd(to: ends) }
        property.clear()
        try eventually("both ends") { ends.ends.count == 2 }
        #expect(all.entries == [1, 2, 2])
        #expect(later.entries == [2, 2])
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(ends.ends == [.sourceDeleted, .sourceDeleted])
    }
}

// MARK: - Before the change

extension Promises.ObservationOptionsTests {
    @Test("With prior, a change is delivered twice: first with the value that the property still has, then made")
    func prior() {
        let property = Observed(0)
        let seen = Log<String>()
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .prior) { (change: Change<Int>) in
            received.append(change)
            seen.append("\(change.reason == .prior) \(property.value)")
        }
        property.value = 1
        property.exchange(2)
        #expect(
            received.lines == [
                "prior - → 0 @0", "valueChanged 0 → 1 @1", "prior - → 1 @1", "valueChanged 1 → 2 @2",
            ]
        )
        #expect(received.changes.map(\.reason) == [.prior, .valueChanged, .prior, .valueChanged])
        #expect(seen.entries == ["true 0", "false 1", "true 1", "false 2"])
        withExtendedLifetime(token) {}
    }

    @Test("modify and compareExchange send no prior delivery")
    func withoutPrior() {
        let property = Observed("a")
        let received = ReceivedChanges<String>()
        let token = property.observe(received, options: [.prior, .initial])
        property.modify { $0 = "b" }
        property.compareExchange(expected: "b", desired: "c")
        #expect(received.lines == ["initial - → a @0", "valueChanged a → b @1", "valueChanged b → c @2"])
        withExtendedLifetime(token) {}
    }

    @Test("Observers without `.prior` receive nothing before the change; all prior deliveries come first")
    func priorBesideOthers() {
        let property = Observed(0)
        let order = Log<String>()
        let tokens = ([[], .prior, .prior] as [ObservationOptions]).enumerated().map { index, options in
            property.observe(options: options) { (change: Change<Int>) in
                order.append("\(index) \(change.reason == .prior)")
            }
        }
        property.value = 1
        #expect(order.entries == ["1 true", "2 true", "0 false", "1 false", "2 false"])
        tokens[1].cancel()
        tokens[2].cancel()
        property.value = 2
        #expect(order.entries.dropFirst(5) == ["0 false"])
    }

    @Test("An observer that ends itself in the prior delivery does not receive the change")
    func endsInPrior() {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .prior) { change, observation in
            received.append(change)
            observation.cancel()
        }
        property.value = 1
        #expect(received.lines == ["prior - → 0 @0"])
        #expect(property.value == 1)
        #expect(!token.isActive)
    }
}

// MARK: - Equal values

extension Promises.ObservationOptionsTests {
    @Test("An equal value is silent when duplicates are removed, and delivered otherwise")
    func duplicates() {
        let property = Observed("a")
        let (all, distinct) = (ReceivedChanges<String>(), ReceivedChanges<String>())
        let tokens = [
            property.observe { all.append($0) },
            property.removingDuplicates().observe { distinct.append($0) },
        ]
        for value in ["a", "b", "b", "a"] { property.value = value }
        property.modify { _ in }
        #expect(all.versions == [1, 2, 3, 4, 5])
        #expect(distinct.lines == ["valueChanged a → b @2", "valueChanged b → a @4"])
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "Without duplicates, the options decide what is delivered, as ever",
        arguments: [[], .initial, .prior, [.initial, .prior]] as [ObservationOptions]
    )
    func duplicatesWithOptions(options: ObservationOptions) throws {
        let property = Slot(Observed<Int?>(nil))
        let (plain, distinct) = (ReceivedChanges<Int?>(), ReceivedChanges<Int?>())
        let tokens = [
            property.value!.observe(plain, options: options),
            property.value!.removingDuplicates().observe(options: options) { distinct.append($0) },
        ]
        property.value!.value = 1
        property.value!.value = nil
        #expect(distinct.lines == plain.lines)
        // The second is equal: its prior delivery comes in any case, because values are compared
        // later.
        property.value!.value = nil
        #expect(plain.count == 3 + (options.contains(.initial) ? 1 : 0) + (options.contains(.prior) ? 3 : 0))
        #expect(distinct.count == plain.count - 1)
        for (token, received) in zip(tokens, [plain, distinct]) { token.recordEnd(to: received) }
        let counts = [plain.count, distinct.count]
        property.clear()
        for received in [plain, distinct] { try received.ended.wait() }
        try Process.settle()
        #expect([plain.count, distinct.count] == counts)
        for received in [plain, distinct] {
            #expect(received.ends == [.sourceDeleted])
            #expect(received.lines.last == "sourceDeleted")
        }
    }
}

// MARK: - Bits that are no option

extension Promises.ObservationOptionsTests {
    @Test(
        "P5 P19 Bits that are no option are ignored: the closure runs under no lock, and a commit returns",
        arguments: [64, 128, 252]
    )
    func unknownBits(_ bits: UInt8) async throws {
        await #expect(processExitsWith: .success) { [bits] in
            Process.limitLife(seconds: 20)
            let (property, other) = (Observed(0), Observed(0))
            let received = ReceivedChanges<Int>()
            let token = property.observe(options: ObservationOptions(rawValue: bits)) { change in
                received.append(change)
                // Under the property's lock this waits for ever.
                _ = property.observe { _ in }
            }
            Group(property, other).commit { transaction in
                transaction[property] = 1
                transaction[other] = 1
            }
            check(received.lines.first == "valueChanged 0 → 1 @1", "received \(received.lines)")
            withExtendedLifetime(token) {}
        }
    }

    @Test("An unknown bit beside an option leaves the option as it is")
    func knownAndUnknownBits() {
        let property = Observed(7)
        let received = ReceivedChanges<Int>()
        let token = property.observe(received, options: ObservationOptions(rawValue: 0xFF))
        property.value = 8
        #expect(received.lines == ["initial - → 7 @0", "prior - → 7 @0", "valueChanged 7 → 8 @1"])
        withExtendedLifetime(token) {}
    }
}
