// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Commits through a path while sets, and the commits themselves, lead it elsewhere.
    static let transactionPaths = Scenario(
        name: "transaction-paths",
        summary: "commits through a path against replacements, observers, bindings, snapshots and the deaths of roots",
        invariants: [
            "P19.path-held-still", "P20.present-together", "P21.once", "P21.whole", "P2.path-versions",
            "P3.destination-follows", "P12.end-once", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a path was led elsewhere between two commits", "a commit led its path elsewhere", "a root died"],
        leastThreads: 3
    ) { round in
        let shelf = Shelf()
        let witness = PathWitness(shelf, round)
        round.load { worker in
            while witness.token.deliveryCounts!.pending > 1_000, !round.isOver { usleep(100) }
            switch worker.generator.below(8) {
            case 0...2:
                worker.begin("commit")
                worker.add(shelf)
            case 3:
                worker.begin("commit both")
                worker.leave(shelf)
            case 4:
                worker.begin("lead elsewhere")
                shelf.root.end.value = shelf.other(than: shelf.root.end.value)
            case 5:
                worker.begin("root's death")
                if worker.generator.oneIn(2) { worker.drop() } else { worker.dropInCallback() }
            default:
                worker.begin("snapshot")
                worker.takeSnapshot(shelf)
            }
        }
        shelf.checkRest(round)
        witness.settle(round, shelf)
        round.checkRest()
    }
}

/// A path, the two objects to which it leads, and how often commits have added to what is there.
private final class Shelf: Sendable {
    let ends = [PathEnd(0), PathEnd(0)]
    let root: PathMiddle
    let path: Path<PathMiddle, UInt64?>
    let total = Observed<UInt64>(0)
    let all: Group<(UInt64, UInt64, UInt64)>
    /// Follows the path.
    let mirror = Observed<UInt64?>(nil)
    let bodies = Atomic<UInt64>(0)
    let commits = Atomic<UInt64>(0)

    /// Marks what a commit sets when it leads the path elsewhere.
    static let left: UInt64 = 1 << 63

    init() {
        root = PathMiddle(ends[0])
        path = root.property(\.end.number)
        all = Group(ends[0].number, ends[1].number, total)
    }

    func other(than end: PathEnd?) -> PathEnd { end === ends[0] ? ends[1] : ends[0] }

    func checkRest(_ round: Round) {
        let (commits, bodies) = (commits.load(ordering: .relaxed), bodies.load(ordering: .relaxed))
        round.check(bodies == commits, "P19.path-held-still", "\(commits) commits have run \(bodies) bodies")
    }
}

/// An observer of the path, and a binding from it.
private final class PathWitness: Sendable {
    let token: ObservationToken
    private let binding: ObservationToken

    init(_ shelf: Shelf, _ round: Round) {
        let violations = round.violations
        let version = Guarded<UInt64>(0)
        binding = shelf.path.bind(to: shelf.mirror)
        token = shelf.path.observe(delivery: .serial()) { change in
            checkUserCode("callback")
            let expected = version.withLock { last in
                last += 1
                return last
            }
            if change.version != expected {
                violations.report("P2.path-versions", "version \(change.version) came where \(expected) was to come")
            }
            if change.reason == .valueChanged, change.new! & Shelf.left != 0 {
                violations.report("P21.once", "a commit that leads a path elsewhere was received in parts")
            }
        }
    }

    func settle(_ round: Round, _ shelf: Shelf) {
        guard round.violations.isEmpty else { return }
        let isIdle = waitWhileMoving({ UInt64(token.deliveryCounts!.pending) }) {
            token.deliveryCounts!.pending == 0 && shelf.mirror.value == shelf.path.value
        }
        round.check(
            isIdle,
            "P3.destination-follows",
            "\(token.deliveryCounts!); the path has \(shelf.path.value ?? 0), what is bound to it \(String(describing: shelf.mirror.value))"
        )
        token.cancelAndWaitBlocking()
        binding.cancelAndWaitBlocking()
    }
}

extension Worker {
    /// Adds one to where the path leads.
    fileprivate func add(_ shelf: Shelf) {
        let before = shelf.root.end.version
        Group(shelf.path, shelf.total).commit { transaction in
            shelf.bodies.add(1, ordering: .relaxed)
            let (version, present) = (shelf.root.end.version, shelf.root.end.value)
            if version != before { hit(0) }
            transaction[shelf.path] = (transaction[shelf.path] ?? 0) & ~Shelf.left + 1
            transaction[shelf.total] += 1
            check(
                shelf.root.end.version == version && shelf.root.end.value === present
                    && transaction[present!.number] == transaction[shelf.path],
                "P19.path-held-still",
                "a path was led elsewhere beside a body"
            )
        }
        shelf.commits.add(1, ordering: .relaxed)
    }

    /// Adds one to where the path leads, leads it elsewhere, and adds one there.
    fileprivate func leave(_ shelf: Shelf) {
        Group(shelf.all, shelf.root.end).commit { transaction in
            shelf.bodies.add(1, ordering: .relaxed)
            let next = shelf.other(than: transaction[shelf.root.end])
            transaction[shelf.path] = (transaction[shelf.path] ?? 0) & ~Shelf.left + 1 | Shelf.left
            transaction[shelf.root.end] = next
            transaction[shelf.path] = (transaction[shelf.path] ?? 0) & ~Shelf.left + 1
            transaction[shelf.total] += 2
        }
        shelf.commits.add(1, ordering: .relaxed)
        hit(1)
    }

    fileprivate func takeSnapshot(_ shelf: Shelf) {
        let (first, second, total) = shelf.all.value
        let sum = first & ~Shelf.left + second & ~Shelf.left
        check(sum == total, "P20.present-together", "commits have added \(sum), and counted \(total)")
    }

    /// A root of this thread's, observed through a path, which goes after a commit.
    fileprivate func drop() {
        var root: PathMiddle? = PathMiddle(PathEnd(0))
        let received = Guarded<[UInt64?]>([])
        let ends = Guarded<[ObservationEnd]>([])
        let token = root!.observe(\.end.number) { change in received.withLock { $0.append(change.new) } }
        token.onEnd { end in ends.withLock { $0.append(end) } }
        let path = { root!.property(\.end.number) }
        PropertyList([path()]).commit { transaction in transaction[path()] = 1 }
        root = nil
        let isOver = waitWhileMoving({ UInt64(ends.withLock { $0.count }) }) { ends.withLock { !$0.isEmpty } }
        check(
            isOver && ends.withLock { $0 == [.sourceDeleted] } && received.withLock { $0 == [1] },
            "P12.end-once",
            "received \(received.withLock { $0 }), then the ends \(ends.withLock { $0 })"
        )
        hit(2)
    }

    /// A root of this thread's, observed through a path together with another property, which goes
    /// while the observer is called. What is committed from then on to where the path has led and
    /// to the other property is not received in part.
    fileprivate func dropInCallback() {
        let (end, other, violations) = (PathEnd(0), Observed<UInt64>(0), round.violations)
        let root = Guarded<PathMiddle?>(PathMiddle(end))
        let ends = Guarded<[ObservationEnd]>([])
        let commit = { @Sendable (number: UInt64) in
            Group(other, end.number).commit { transaction in
                transaction[end.number] = number
                transaction[other] = number
            }
        }
        let group = Group(root.withLock { $0 }!.property(\.end.number), other)
        let token = group.observe { change in
            let (first, second) = change.new
            if first != second {
                violations.report("P21.whole", "an observer of a path and a property received \(first!) and \(second)")
            }
            // The root goes here, and what follows is committed in the callback.
            if root.withLock({ $0.take() }) == nil { return }
            commit(first! + 1)
        }
        withExtendedLifetime(consume group) {}
        token.onEnd { end in ends.withLock { $0.append(end) } }
        for number in 1...3 { commit(UInt64(number)) }
        let isOver = waitWhileMoving({ UInt64(ends.withLock { $0.count }) }) { ends.withLock { !$0.isEmpty } }
        check(isOver && ends.withLock { $0 == [.sourceDeleted] }, "P12.end-once", "ended with \(ends.withLock { $0 })")
    }
}
