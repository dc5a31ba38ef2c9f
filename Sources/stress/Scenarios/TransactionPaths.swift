// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Threads commit through a path. At the same time setters, and the commits themselves, lead it
    /// to other objects.
    static let transactionPaths = Scenario(
        name: "transaction-paths",
        summary: "commits through a path against replacements, observers, bindings, snapshots and the deaths of roots",
        invariants: [
            "P19.path-held-still", "P20.present-together", "P21.once", "P21.whole", "P2.path-versions",
            "P3.destination-follows", "P12.end-once",
        ] + checkedAtRest,
        windows: ["a path was led elsewhere between two commits", "a commit led its path elsewhere", "a root died"],
        leastThreads: 3
    ) { round in
        let shelf = Shelf()
        let witness = PathWitness(shelf, round)
        round.load { worker in
            worker.holdBack(witness.token)
            switch worker.generator.below(8) {
            case 0...2: worker.add(shelf)
            case 3: worker.leave(shelf)
            case 4:
                worker.begin("lead elsewhere")
                shelf.root.end.value = shelf.other(than: shelf.root.end.value)
            case 5:
                worker.begin("root's death")
                if worker.generator.oneIn(2) { worker.drop() } else { worker.dropInCallback() }
            default: worker.takeSnapshot(shelf)
            }
        }
        round.check("the number of bodies", shelf.bodies.value, is: shelf.commits.value, "P19.path-held-still")
        witness.settle(round, shelf)
        round.checkRest()
    }
}

/// A path, the two objects to which it leads, and the number of commits that have incremented each
/// of them.
private final class Shelf: Sendable {
    let ends = [PathEnd(0), PathEnd(0)]
    let root: PathMiddle
    let path: Path<PathMiddle, UInt64?>
    let total = Observed<UInt64>(0)
    let all: Group<(UInt64, UInt64, UInt64)>
    /// A property that follows the path.
    let mirror = Observed<UInt64?>(nil)
    let (bodies, commits) = (Tally(), Tally())

    /// A mark in the number that a commit sets when it leads the path to another object.
    static let left: UInt64 = 1 << 63

    /// Returns the number after one that may have the mark.
    static func next(_ number: UInt64?) -> UInt64 { (number ?? 0) & ~left + 1 }

    init() {
        root = PathMiddle(ends[0])
        path = root.property(\.end.number)
        all = Group(ends[0].number, ends[1].number, total)
    }

    func other(than end: PathEnd?) -> PathEnd { end === ends[0] ? ends[1] : ends[0] }
}

/// An observer of the path, and a binding from the path.
private final class PathWitness: Sendable {
    let token: ObservationToken
    private let binding: ObservationToken

    init(_ shelf: Shelf, _ round: Round) {
        let (violations, calls) = (round.violations, Tally())
        binding = shelf.path.bind(to: shelf.mirror)
        token = shelf.path.observe(delivery: .serial()) { change in
            checkUserCode("callback")
            let call = calls.increment()
            violations.check(change.version == call, "P2.path-versions", "version \(change.version) was call \(call)")
            violations.check(change.reason != .valueChanged || change.new! & Shelf.left == 0, "P21.once") {
                "a commit that leads a path elsewhere was received in parts"
            }
        }
    }

    func settle(_ round: Round, _ shelf: Shelf) {
        guard round.violations.isEmpty else { return }
        func state() -> String {
            "\(token.deliveryCounts!); the path has \(shelf.path.value ?? 0), what is bound to it \(shelf.mirror.value ?? 0)"
        }
        round.wait(for: "P3.destination-follows", state(), moving: { UInt64(token.deliveryCounts!.pending) }) {
            token.deliveryCounts!.pending == 0 && shelf.mirror.value == shelf.path.value
        }
        token.cancelAndWaitBlocking()
        binding.cancelAndWaitBlocking()
    }
}

extension Worker {
    /// Increments the number to which the path leads.
    fileprivate func add(_ shelf: Shelf) {
        begin("commit")
        let before = shelf.root.end.version
        Group(shelf.path, shelf.total).commit { transaction in
            shelf.bodies.increment()
            let (present, version) = shelf.root.end.snapshot()
            if version != before { hit(0) }
            transaction[shelf.path] = Shelf.next(transaction[shelf.path])
            transaction[shelf.total] += 1
            check(
                shelf.root.end.version == version && shelf.root.end.value === present
                    && transaction[present!.number] == transaction[shelf.path],
                "P19.path-held-still",
                "a path was led elsewhere beside a body"
            )
        }
        shelf.commits.increment()
    }

    /// Increments the number to which the path leads, leads the path to the other object, and
    /// increments the number there.
    fileprivate func leave(_ shelf: Shelf) {
        begin("commit both")
        Group(shelf.all, shelf.root.end).commit { transaction in
            shelf.bodies.increment()
            let next = shelf.other(than: transaction[shelf.root.end])
            transaction[shelf.path] = Shelf.next(transaction[shelf.path]) | Shelf.left
            transaction[shelf.root.end] = next
            transaction[shelf.path] = Shelf.next(transaction[shelf.path])
            transaction[shelf.total] += 2
        }
        shelf.commits.increment()
        hit(1)
    }

    fileprivate func takeSnapshot(_ shelf: Shelf) {
        begin("snapshot")
        let (first, second, total) = shelf.all.value
        check("the sum of both", first & ~Shelf.left + second & ~Shelf.left, is: total, "P20.present-together")
    }

    /// Observes a path from a root that only this thread uses, makes a commit through the path, and
    /// releases the root. Checks that the observation ends.
    fileprivate func drop() {
        var root: PathMiddle? = PathMiddle(PathEnd(0))
        let received = Record<UInt64?>()
        let token = root!.observe(\.end.number) { change in received.note(change.new) }
        let ends = ends(of: token)
        let path = { root!.property(\.end.number) }
        PropertyList([path()]).commit { transaction in transaction[path()] = 1 }
        root = nil
        checkEnd(ends)
        check("what was received before the end", received.all, is: [1], "P12.end-once")
        hit(2)
    }

    /// Observes a path together with another property. The root of the path, which only this thread
    /// uses, is released while the observer is called. Checks that later commits, to the end of the
    /// path and to the other property, are not received in part.
    fileprivate func dropInCallback() {
        let (end, other, violations) = (PathEnd(0), Observed<UInt64>(0), round.violations)
        let root = Place<PathMiddle>()
        _ = root.exchange(PathMiddle(end))
        let commit = { @Sendable (number: UInt64) in
            Group(other, end.number).commit { transaction in
                transaction[end.number] = number
                transaction[other] = number
            }
        }
        let group = Group(root.content!.property(\.end.number), other)
        let token = group.observe { change in
            let (first, second) = (change.new.0!, change.new.1)
            violations.check(first == second, "P21.whole", "a path and a property were received as \(first), \(second)")
            // The root is released here, and the callback makes a commit after that.
            if root.exchange(nil) != nil { commit(first + 1) }
        }
        withExtendedLifetime(consume group) {}
        let ends = ends(of: token)
        for number in 1...3 { commit(UInt64(number)) }
        checkEnd(ends)
    }

    private func ends(of token: ObservationToken) -> Record<ObservationEnd> {
        let ends = Record<ObservationEnd>()
        token.onEnd { end in ends.note(end) }
        return ends
    }

    private func checkEnd(_ ends: Record<ObservationEnd>) {
        _ = waitWhileMoving({ UInt64(ends.count) }) { ends.count > 0 }
        check("the ends of a path", ends.all, is: [.sourceDeleted], "P12.end-once")
    }
}
