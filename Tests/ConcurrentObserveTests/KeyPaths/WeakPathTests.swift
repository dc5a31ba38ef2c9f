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

private final class Team: ObserverRemoving {
    let lead = WeakObserved<Person>()
    let branch = Observed<Team?>(nil)

    func removeAllObservers() { ObservationToken.cancelAll(of: lead, branch) }
}

/// What an observer has heard, in lines.
private final class Lines: Sendable {
    private let lines = Slot<[String]>([])

    func note<Value>(_ change: Change<Value?>) {
        let (old, new) = [change.old, change.new].reduce(into: ([String]())) {
            $0.append($1.map { $0.map { "\($0)" } ?? "-" } ?? "?")
        }
        .pair
        lines.put(lines.value! + ["\(change.reason) \(old) → \(new) @\(change.version)"])
    }

    var all: [String] { lines.value! }
}

extension [String] {
    fileprivate var pair: (String, String) { (self[0], self[1]) }
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

    @Test("P2 A path of one step to a weak property has versions of its own, and hears the root's end")
    func oneStep() {
        var team: Team? = Team()
        let person = Person()
        team!.lead.value = person
        let lines = Lines()
        let token = team!.observe(\.lead, options: []) { lines.note($0) }
        team!.lead.value = nil
        team = nil
        #expect(lines.all == ["valueChanged ? → ? @1", "sourceDeleted ? → ? @1"])
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
                "pathChanged(depth: 0) ? → Ada @1", "valueChanged ? → Grace @2", "pathChanged(depth: 1) ? → - @3",
                "pathChanged(depth: 0) ? → - @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P8 Removal by object ends paths that begin with a weak property")
    func removed() {
        let team = Team()
        let token = team.observe(\.lead.name) { (_: Change<String?>) in }
        let direct = team.lead.observe { (_: Change<Person?>) in }
        team.removeAllObservers()
        #expect(!token.isActive && !direct.isActive)
    }
}
