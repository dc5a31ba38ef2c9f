// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Paths over weak properties")
    struct WeakPathTests {}
}

private final class Person: WeaklyObservable, ConcurrentObservable {
    let lifetime = ReferentLifetime()
    let name = Observed("Ada")
}

private final class Team: ConcurrentObservable, ObservationSource {
    let lead = WeakObserved<Person>()
    let branch = Observed<Team?>(nil)

    func cancelAllObservations() { ObservationToken.cancelAll(of: lead, branch) }
}

/// The changes that an observer has received, as lines.
private final class Lines: Sendable {
    private let lines = Slot<[String]>([])

    func note<Value>(_ change: Change<Value?>) {
        func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }
        let old = change.old.map(text) ?? "?"
        lines.put(lines.value! + ["\(change.reason) \(old) → \(text(change.new)) @\(change.version)"])
    }

    func note(_ end: ObservationEnd) { lines.put(lines.value! + ["\(end)"]) }

    var all: [String] { lines.value! }
}

extension Promises.WeakPathTests {
    @Test("P2 A path leads through a weak property, and to nil when the referent dies")
    func dies() {
        let team = Team()
        var person: Person? = Person()
        let lines = Lines()
        let token = team.observe(\.lead.name, options: .initial) { lines.note($0) }
        team.lead.value = person
        person!.name.value = "Grace"
        person = nil
        #expect(
            lines.all == [
                "initial ? → - @0", "pathChanged(depth: 0) - → Ada @1", "valueChanged Ada → Grace @2",
                "pathChanged(depth: 0) Grace → - @3",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P11 Neither a path nor its root keeps the referent alive")
    func retainsNothing() {
        let team = Team()
        var person: Person? = Person()
        weak let watched = person
        let token = team.observe(\.lead.name) { (_: Change<String?>) in }
        team.lead.value = person
        person = nil
        #expect(watched == nil)
        #expect(token.isActive)
    }

    @Test("P2 A path of one step to a weak property has versions of its own, and receives the root's end")
    func oneStep() throws {
        var team: Team? = Team()
        let person = Person()
        team!.lead.value = person
        let lines = Lines()
        let token = team!.observe(\.lead) { change in
            lines.note(
                Change(
                    reason: change.reason,
                    old: change.old.map { $0?.name.value },
                    new: change.new?.name.value,
                    version: change.version
                )
            )
        }
        token.onEnd { lines.note($0) }
        team!.lead.value = nil
        team = nil
        try eventually("the end") { lines.all.count > 1 }
        #expect(lines.all == ["valueChanged Ada → - @1", "sourceDeleted"])
        #expect(!token.isActive)
        withExtendedLifetime(person) {}
    }

    @Test("P2 A weak property behind an optional step")
    func behindOptional() {
        let team = Team()
        let person = Person()
        let lines = Lines()
        let token = team.observe(\.branch.lead.name) { lines.note($0) }
        let branch = Team()
        branch.lead.value = person
        team.branch.value = branch
        person.name.value = "Grace"
        branch.lead.value = nil
        team.branch.value = nil
        #expect(
            lines.all == [
                "pathChanged(depth: 0) - → Ada @1", "valueChanged Ada → Grace @2",
                "pathChanged(depth: 1) Grace → - @3", "pathChanged(depth: 0) - → - @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P8 Removal by object ends paths that begin with a weak property")
    func removed() {
        let team = Team()
        let token = team.observe(\.lead.name) { (_: Change<String?>) in }
        let direct = team.lead.observe { (_: Change<Person?>) in }
        team.cancelAllObservations()
        #expect(!token.isActive && !direct.isActive)
    }
}
