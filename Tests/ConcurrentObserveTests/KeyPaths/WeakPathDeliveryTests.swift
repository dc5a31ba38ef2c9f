// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P7, P11, P12 Paths that end in a weak property, not delivered inline")
    struct WeakPathDeliveryTests {}
}

private final class Team: ConcurrentObservable {
    let lead = WeakObserved<Referent>()
}

private final class Firm: ConcurrentObservable {
    let team = Observed(Team())
    let other = Observed<Team?>(nil)
}

/// The path that leads to the weak property.
enum WeakPath: String, CaseIterable, Sendable { case oneStep, twoSteps, optional }

/// A firm, a path in it, and the property to which the path leads.
private struct Ground {
    let path: WeakPath
    let firm = Firm()
    let team: Team

    init(_ path: WeakPath) {
        self.path = path
        team = firm.team.value
        firm.other.value = team
    }

    var lead: WeakObserved<Referent> { team.lead }

    /// Makes the path leave the property. Returns false if it cannot.
    func leave() -> Bool {
        switch path {
        case .oneStep: return false
        case .twoSteps: firm.team.value = Team()
        case .optional: firm.other.value = nil
        }
        return true
    }

    func observe(
        options: ObservationOptions = [],
        _ delivery: Delivery,
        _ body: @escaping @Sendable (Change<Referent?>) -> Void
    ) -> ObservationToken {
        switch path {
        case .oneStep: team.observe(\.lead, options: options, delivery: delivery, body)
        case .twoSteps: firm.observe(\.team.lead, options: options, delivery: delivery, body)
        case .optional: firm.observe(\.other.lead, options: options, delivery: delivery, body)
        }
    }

    func observe(on listener: Listener, _ body: @escaping @Sendable (Change<Referent?>) -> Void) -> ObservationToken {
        switch path {
        case .oneStep: team.property(\.lead).observe(on: listener, buffering: .latest) { _, change in body(change) }
        case .twoSteps:
            firm.property(\.team.lead).observe(on: listener, buffering: .latest) { _, change in body(change) }
        case .optional:
            firm.property(\.other.lead).observe(on: listener, buffering: .latest) { _, change in body(change) }
        }
    }

    func changes(_ options: ObservationOptions, _ buffering: Buffering) -> ObservationSequence<Change<Referent?>> {
        switch path {
        case .oneStep: team.property(\.lead).changes(options: options, buffering: buffering)
        case .twoSteps: firm.property(\.team.lead).changes(options: options, buffering: buffering)
        case .optional: firm.property(\.other.lead).changes(options: options, buffering: buffering)
        }
    }

    func values() -> ObservationSequence<Referent?> {
        switch path {
        case .oneStep: team.property(\.lead).values(options: .initial)
        case .twoSteps: firm.property(\.team.lead).values(options: .initial)
        case .optional: firm.property(\.other.lead).values(options: .initial)
        }
    }
}

extension Promises.WeakPathDeliveryTests {
    @Test("P7 Another observer's blocked callback holds up no delivery of the path", arguments: WeakPath.allCases)
    func blockedBeside(path: WeakPath) throws {
        let ground = Ground(path)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let hasBlocked = Flag()
        let blocking = ground.lead.observe { (_: Change<Referent?>) in
            guard !hasBlocked.isSet else { return }
            hasBlocked.set()
            entered.happen()
            exit.hold()
        }
        let (received, serial) = (ReceivedReferents(), ReceivedReferents())
        let tokens = [
            ground.observe(.queue(DispatchQueue(label: "a room"))) { received.append($0) },
            ground.observe(.serial()) { serial.append($0) },
        ]
        let (ada, grace) = (Referent("Ada"), Referent("Grace"))
        let blocked = TestThread { ground.lead.value = ada }
        try entered.wait()
        for _ in 0..<100 {
            ground.lead.value = grace
            ground.lead.value = ada
        }
        try eventually("201 changes instead of \(received.count)") { received.count == 201 }
        #expect(received.versions.map(\.version) == Array(1...201))
        // The last of those that come before the blocked thread are delivered on the others'
        // threads.
        #expect(serial.count == 201)
        exit.happen()
        try blocked.join()
        #expect(received.count == 201 && serial.count == 201)
        withExtendedLifetime((blocking, tokens)) {}
    }

    @Test("P11 No mailbox keeps a referent, and each death is delivered", arguments: WeakPath.allCases)
    func retainsNothing(path: WeakPath) throws {
        let ground = Ground(path)
        let lives = Lives()
        let queue = DispatchQueue(label: "a room")
        let listener = Listener()
        let (received, last, seen) = (ReceivedReferents(), ReceivedReferents(), ReceivedReferents())
        queue.suspend()
        listener.suspend()
        let tokens = [
            ground.observe(options: .initial, .queue(queue)) { received.append($0) },
            ground.observe(.queue(queue, buffering: .latest)) { last.append($0) },
            ground.observe(on: listener) { seen.append($0) },
        ]
        // Idle iterators.
        let changes = ground.changes(.initial, .latest).makeAsyncIterator()
        let values = ground.values().makeAsyncIterator()
        for number in 0..<200 { ground.lead.value = Referent("\(number)", life: lives.make()) }
        #expect(lives.alive == 0)
        #expect(changes.deliveryCounts.sent == 401 && changes.deliveryCounts.pending == 1)
        #expect(values.deliveryCounts.pending == 401)
        let ada = Referent("Ada")
        ground.lead.value = ada
        queue.resume()
        listener.resume()
        try eventually("the last change") { received.count == 402 && last.count > 0 && seen.count > 0 }
        #expect(
            received.lines[0...2] == ["initial - → nil @0", "valueChanged nil → nil @1", "valueChanged nil → nil @2"]
        )
        #expect(received.lines.last == "valueChanged nil → Ada @401")
        #expect(last.lines == ["valueChanged nil → Ada @401"])
        #expect(seen.lines.last == "valueChanged nil → Ada @401")
        withExtendedLifetime((tokens, changes, values, ada)) {}
    }

    @Test("P2 P4 P12 What a sequence returns: the initial value, each change, the replacement of a step, the end")
    func sequences() async {
        let ada = Referent("Ada")
        let received = ReceivedReferents()
        var firm: Firm? = Firm()
        firm!.team.value.lead.value = ada
        var changes = firm!.property(\.team.lead).changes(options: .initial).makeAsyncIterator()
        var values = firm!.property(\.team.lead).values(options: .initial).makeAsyncIterator()
        firm!.team.value.lead.value = nil
        firm!.team.value = Team()
        firm!.team.value.lead.value = ada
        firm = nil
        while let change = await changes.next() { received.append(change) }
        #expect(
            received.lines == [
                "initial - → Ada @0", "valueChanged Ada → nil @1", "pathChanged(depth: 0) nil → nil @2",
                "valueChanged nil → Ada @3",
            ]
        )
        var names: [String] = []
        while let value = await values.next() { names.append(value?.description ?? "nil") }
        #expect(names == ["Ada", "nil", "nil", "Ada"])
    }

    @Test("P2 P8 A path leaves the weak property, and is ended", arguments: WeakPath.allCases)
    func leaves(path: WeakPath) throws {
        let ground = Ground(path)
        let (ada, grace) = (Referent("Ada"), Referent("Grace"))
        let received = ReceivedReferents()
        let token = ground.observe(options: [.initial, .prior], .serial()) { received.append($0) }
        ground.lead.value = ada
        var expected = ["initial - → nil @0", "prior - → nil @0", "valueChanged nil → Ada @1"]
        if ground.leave() {
            ground.lead.value = grace
            expected.append("pathChanged(depth: 0) Ada → nil @2")
        }
        #expect(received.lines == expected)
        #expect(waitsForTheEnd(of: token))
        ground.lead.value = nil
        #expect(received.lines == expected)
    }
}
