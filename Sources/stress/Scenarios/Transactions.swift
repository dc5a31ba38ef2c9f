// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Money is moved among accounts, each move a commit, and never lost in a snapshot.
    static let transactions = Scenario(
        name: "transactions",
        summary: "commits of groups in any order against snapshots, reads, sets, modify and bodies that throw",
        invariants: [
            "P19.one-seen-all-seen", "P19.never-backwards", "P19.throw-publishes-nothing", "P19.left-alone",
            "P19.read-held-still",
            "P12.nil-once",
            "P20.present-together", "P21.whole", "P21.once", "P21.one-number", "P2.version-fits",
            "P2.versions-without-gaps",
            "P5.no-lock-around-user-code",
            "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a snapshot met a commit", "a body threw", "a snapshot was taken in a body"],
        leastThreads: 3
    ) { round in
        let bank = Bank()
        let witness = PairWitness(bank, round)
        round.load { worker in
            // A mailbox without a bound.
            while witness.token.deliveryCounts!.pending > 1_000, !round.isOver { usleep(100) }
            switch worker.generator.below(16) {
            case 0:
                worker.begin("throw")
                worker.refuse(bank)
            case 1...6:
                worker.begin("move")
                worker.move(bank)
            case 7...9:
                worker.begin("commit a pair")
                worker.commitPair(bank)
            case 10:
                worker.begin("modify")
                worker.checkMirror(bank)
            case 11:
                worker.begin("read")
                worker.readPair(bank)
            case 12:
                worker.begin("mirror")
                worker.mirror(bank)
            case 15 where worker.generator.oneIn(4):
                worker.begin("commit a weak one")
                worker.commitReferent(bank)
            case 15 where worker.generator.oneIn(4):
                worker.begin("set again")
                worker.setAgain(bank)
            case 13 where worker.generator.oneIn(8):
                worker.begin("observe")
                let another = PairWitness(bank, round)
                worker.compareNumbers(bank)
                another.token.cancelAndWaitBlocking()
            case 14:
                worker.begin("withdraw")
                worker.withdraw(bank)
            default:
                worker.begin("snapshot")
                worker.takeSnapshot(bank)
            }
        }
        bank.checkRest(round)
        if round.violations.isEmpty { witness.settle(round, expected: bank.first.value) }
        witness.token.cancelAndWaitBlocking()
        round.checkRest()
        let left = bank.drafts.value.load(ordering: .relaxed)
        round.check(left == 0, "P14.nothing-left", "\(left) values that bodies have set are left")
    }
}

private struct Refusal: Error {}

private final class Transient: WeaklyObservable {
    let lifetime = ReferentLifetime()
}

/// A value whose live instances a bank counts.
private final class Draft: Sendable {
    let number: Int
    private let count: Count

    init(_ bank: Bank, _ number: Int) {
        (self.number, count) = (number, bank.drafts)
        // Relaxed, as below: looked at when all threads have ended, and the library has nothing
        // left.
        count.value.wrappingAdd(1, ordering: .relaxed)
    }

    deinit { count.value.wrappingSubtract(1, ordering: .relaxed) }
}

private final class Count: Sendable {
    let value = Atomic<Int>(0)
}

/// An observer of a pair that receives every commit once, whole, beginning with the one after its
/// initial value.
private final class PairWitness: Sendable {
    let token: ObservationToken
    private let latest: Latest

    /// The number of the last commit that was received, plus one, or 0.
    private final class Latest: Sendable {
        let number = Atomic<UInt64>(0)
    }

    init(_ bank: Bank, _ round: Round) {
        let (latest, violations) = (Latest(), round.violations)
        self.latest = latest
        token = bank.pair.observe(options: .initial, delivery: .serial()) { change in
            checkUserCode("callback")
            let (second, first) = change.new
            if second.serial != first {
                violations.report("P21.whole", "an observer of a pair received \(first) and \(second.serial)")
            }
            // Relaxed: calls come one at a time, and what orders them orders this.
            let expected = latest.number.exchange(first &+ 1, ordering: .relaxed)
            if change.reason != .initial, first != expected {
                violations.report("P21.once", "commit \(first) was received where \(expected) was to come")
            }
        }
    }

    /// At rest, with all writers' calls returned.
    func settle(_ round: Round, expected: UInt64) {
        let isIdle = waitWhileMoving({ latest.number.load(ordering: .relaxed) }) {
            token.deliveryCounts!.pending == 0 && latest.number.load(ordering: .relaxed) == expected &+ 1
        }
        round.check(isIdle, "P21.once", "\(token.deliveryCounts!), of \(expected) commits")
    }
}

/// Properties that change together.
private final class Bank: Sendable {
    let accounts = (0..<16).map { _ in Observed<Int>(Bank.balance) }
    let all: PropertyList<Observed<Int>>
    /// The second is always what the first is. Their version, too.
    let first = Observed<UInt64>(0)
    let second = Observed(TrackedValue(serial: 0))
    let pair: Group<(TrackedValue, UInt64)>
    /// A member of commits that never set it.
    let idle = Observed("idle")
    /// Changed by `modify`, by commits that set nothing else, and by others.
    let tally = Observed<UInt64>(0)
    /// Set by commits that read the tally, to its value.
    let mirror = Observed<UInt64>(0)

    /// Always equal, and observed together, while their observations are cancelled, too.
    let left = Observed<UInt64>(0)
    let right = Observed<UInt64>(0)
    let withdrawn: Group<(UInt64, UInt64)>

    /// Counts the drafts that are not destroyed.
    let drafts = Count()

    static let balance = 1_000_000

    init() {
        all = PropertyList(accounts)
        pair = Group(second, first)
        withdrawn = Group(left, right)
    }

    func checkRest(_ round: Round) {
        round.check(idle.version == 0, "P19.left-alone", "a property that no body has set has version \(idle.version)")
        round.check(
            tally.value == tally.version,
            "P2.versions-without-gaps",
            "version \(tally.version) after \(tally.value) changes"
        )
        let (second, first) = (second.snapshot(), first.snapshot())
        round.check(
            first.value == first.version && second.version == first.version && second.value.serial == first.value,
            "P2.versions-without-gaps",
            "at rest the first is \(first), the second \(second)"
        )
        let sum = all.value.reduce(0, +)
        round.check(
            sum == Self.balance * 16,
            "P20.present-together",
            "at rest the sum is off by \(sum - Self.balance * 16)"
        )
    }
}

extension Worker {
    /// Moves money among two to four accounts, in any order.
    fileprivate func move(_ bank: Bank) {
        let count = 2 + Int(generator.below(3))
        var accounts: [Observed<Int>] = []
        let start = Int(generator.below(16))
        let step = [1, 3, 5, 7, 9, 11, 13, 15][Int(generator.below(8))]
        for index in 0..<count { accounts.append(bank.accounts[(start + index * step) % 16]) }
        let amount = 1 + Int(generator.below(100))
        Group(PropertyList(accounts), bank.idle).commit { transaction in
            for account in accounts.dropFirst() {
                transaction[accounts[0]] -= amount
                transaction[account] += amount
            }
        }
    }

    /// Sets two properties to the next number, and a third now and then.
    fileprivate func commitPair(_ bank: Bank) {
        let countsToo = generator.oneIn(4)
        let isLooking = generator.oneIn(16)
        Group(bank.first, bank.tally, bank.second).commit { transaction in
            transaction[bank.first] += 1
            transaction[bank.second] = TrackedValue(serial: transaction[bank.first])
            if countsToo { transaction[bank.tally] += 1 }
            guard isLooking else { return }
            let (second, first) = bank.pair.value
            hit(2)
            check(
                first + 1 == transaction[bank.first] && second.serial == first,
                "P19.one-seen-all-seen",
                "a body that has drafted \(first + 1) reads \(first) and \(second.serial)"
            )
        }
    }

    /// Commits a pair, observes it, or cancels the observations of one of the two.
    fileprivate func withdraw(_ bank: Bank) {
        switch generator.below(4) {
        case 0: bank.left.cancelAllObservations()
        case 1:
            let violations = round.violations
            let token = bank.withdrawn.observe(options: .initial) { change in
                if change.new.0 != change.new.1 {
                    violations.report("P21.whole", "an observer of a pair received \(change.new) beside a cancellation")
                }
            }
            bank.withdrawn.commit { transaction in
                transaction[bank.left] += 1
                transaction[bank.right] += 1
            }
            token.cancel()
        default:
            bank.withdrawn.commit { transaction in
                transaction[bank.right] += 1
                transaction[bank.left] += 1
            }
        }
    }

    /// Observers of two properties that change together receive the same number of the commit.
    fileprivate func compareNumbers(_ bank: Bank) {
        let (first, second) = (Guarded<[UInt64: UInt64?]>([:]), Guarded<[UInt64: UInt64?]>([:]))
        let tokens = [
            bank.first.observe { change in first.withLock { $0[change.new] = .some(change.commit) } },
            bank.second.observe { change in second.withLock { $0[change.new.serial] = .some(change.commit) } },
        ]
        commitPair(bank)
        for token in tokens { token.cancelAndWaitBlocking() }
        let others = second.withLock { $0 }
        for (serial, number) in first.withLock({ $0 }) {
            guard let other = others[serial] else { continue }
            check(
                number != nil && number == other,
                "P21.one-number",
                "two changes of commit \(serial) have the numbers \(number ?? 0) and \(other ?? 0)"
            )
        }
    }

    /// A body that throws, with drafts that must not be seen.
    fileprivate func refuse(_ bank: Bank) {
        let before = bank.idle.version
        do throws(Refusal) {
            try Group(bank.pair, bank.idle, bank.accounts[0]).commit { transaction throws(Refusal) in
                transaction[bank.accounts[0]] = -1
                transaction[bank.idle] = "thrown"
                transaction[bank.second] = TrackedValue(serial: .max)
                throw Refusal()
            }
        } catch {
            hit(1)
        }
        check(
            bank.idle.version == before && bank.idle.value == "idle",
            "P19.throw-publishes-nothing",
            "after a body that threw: \(bank.idle.value), version \(bank.idle.version)"
        )
    }

    fileprivate func mirror(_ bank: Bank) {
        Group(bank.mirror, bank.idle).commit(reading: Group(bank.tally, bank.first)) { transaction in
            transaction[bank.mirror] = transaction[bank.tally]
        }
    }

    /// Checks that a mirror published after a change of the tally was made with the new tally.
    fileprivate func checkMirror(_ bank: Bank) {
        let tally = bank.tally.modify {
            $0 += 1
            return $0
        }
        let before = bank.mirror.version
        for _ in 0..<8 {
            let mirror = bank.mirror.snapshot()
            check(
                mirror.version == before || mirror.value >= tally,
                "P19.read-held-still",
                "\(mirror.value) was published after \(tally) in the property that the commit has read"
            )
            _ = bank.all.value
        }
    }

    /// Commits a weak property that only this thread uses. The referent dies in the body, before or
    /// after the change.
    fileprivate func commitReferent(_ bank: Bank) {
        let weak = WeakObserved<Transient>()
        var referent: Transient? = Transient()
        let setsAgain = generator.oneIn(2)
        Group(bank.idle, weak).commit { transaction in
            transaction[weak] = Transient()
            if setsAgain { transaction[weak] = referent }
            referent = setsAgain ? nil : referent
        }
        check(
            weak.value == nil && weak.version == 2,
            "P12.nil-once",
            "a referent that no one has any more: version \(weak.version)"
        )
        referent = referent ?? Transient()
        weak.value = referent
        Group(weak, bank.idle).commit { _ in referent = nil }
        // By a thread of the library.
        let isNil = waitWhileMoving({ weak.version }) { weak.version == 4 }
        check(isNil && weak.value == nil, "P12.nil-once", "a referent that died in a body: version \(weak.version)")
    }

    /// Bodies that set a member again and again: what it had is destroyed, once. (P14)
    fileprivate func setAgain(_ bank: Bank) {
        let property = Observed<Draft?>(nil)
        let (referent, weak) = (Transient(), WeakObserved<Transient>())
        let group = Group(property, weak)
        for round in 1...4 {
            group.commit { transaction in
                for step in 0..<3 { transaction[property] = Draft(bank, round * 10 + step) }
                // Never. But the optimiser, which has left out the end of a draft of such a body,
                // does not know.
                guard round < 0 else { return }
                check((transaction[weak] === referent) == (round % 2 == 0), "P19.left-alone", "a referent")
            }
        }
        let kept = property.value
        check(kept?.number == 42, "P19.one-seen-all-seen", "the last of twelve drafts is \(kept?.number ?? 0)")
    }

    fileprivate func readPair(_ bank: Bank) {
        let first = bank.first.snapshot()
        let second = bank.second.snapshot()
        let again = bank.first.value
        check(first.value == first.version, "P2.version-fits", "value \(first.value), version \(first.version)")
        check(
            second.value.serial == second.version,
            "P2.version-fits",
            "value \(second.value.serial), version \(second.version)"
        )
        check(
            second.value.serial >= first.value,
            "P19.one-seen-all-seen",
            "one property of a commit was \(first.value), then another one \(second.value.serial)"
        )
        check(
            again >= second.value.serial && bank.first.version >= again,
            "P19.never-backwards",
            "after \(second.value.serial) of one property came \(again) of another one, then \(bank.first.version)"
        )
    }

    fileprivate func takeSnapshot(_ bank: Bank) {
        let before = bank.pair.version
        let (second, first) = bank.pair.value
        if bank.pair.version != before { hit(0) }
        check(
            first == second.serial,
            "P20.present-together",
            "a snapshot of a pair has \(first) and \(second.serial)"
        )
        let sum = bank.all.value.reduce(0, +)
        check(
            sum == Bank.balance * 16,
            "P20.present-together",
            "the sum of a snapshot is off by \(sum - Bank.balance * 16)"
        )
    }
}
