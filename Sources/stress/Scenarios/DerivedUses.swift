// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Derived values whose sources change faster than their functions run, die, and seem to form
    /// rings; with observers of every ordered delivery.
    static let derivedUses = Scenario(
        name: "derived-uses",
        summary:
            "derived values of sources that never rest, that die, and seem to form rings; with serial observers, actors and sequences",
        invariants: [
            "P22.current", "P23.no-mixture", "P24.once-on-copies", "P25.ends",
            "P1.ordered-once", "P1.counts-add-up", "P2.one-at-a-time", "P2.ordered", "P2.ordered-chain",
            "P3.last-value",
            "P4.initial-first", "P12.end-last", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: ["a function has run many times for one read", "a source has died", "a ring has changed"],
        leastThreads: 4
    ) { round in
        DisturbedReads(round: round).judge()
        // Each commit evaluates the observed values before it goes on. The sources of the
        // unobserved values change faster than a function runs.
        let (pair, restless) = (RestlessPair(), RestlessPair())
        let (serial, actor, sequence) = (
            OrderedWitness("serial", round, beginsWithInitial: true),
            OrderedWitness("actor", round, beginsWithInitial: true),
            OrderedWitness("sequence", round, beginsWithInitial: true)
        )
        let stage = ObservingStage()
        let tokens = [
            pair.named.observe(options: .initial, delivery: .serial()) { change in
                serial.receive(change, round)
            },
            pair.read.observe(on: stage, options: .initial) { _, change in actor.receive(change, round) },
        ]
        let changes = pair.read.changes(options: .initial)
        let iteration = Task.detached { for await change in changes { sequence.receive(change, round) } }

        let (ring, garage) = (ChangingRing(), MortalSource())
        round.load { worker in
            switch worker.index {
            case 0:
                worker.begin("replace a source")
                garage.replace(worker)
            case 1:
                worker.begin("change a ring")
                ring.change(worker)
            default:
                break
            }
            switch worker.generator.below(8) {
            case 0:
                worker.begin("commit without rest")
                for _ in 0..<200 { restless.commit() }
            case 1...2:
                // Mailboxes without a bound.
                guard tokens.allSatisfy({ $0.deliveryCounts!.pending < 1_000 }) else { return }
                worker.begin("commit")
                pair.commit()
            case 3...4:
                worker.begin("read")
                (worker.generator.oneIn(2) ? pair : restless).judge(worker)
            case 5:
                worker.begin("read a ring")
                ring.judge(worker)
            default:
                worker.begin("read what may die")
                garage.judge(worker)
            }
        }

        let last = pair.read.snapshot()
        let isSettled = waitWhileMoving({ sequence.count }) {
            sequence.count > 0 && sequence.lastVersion >= last.version
        }
        round.check(isSettled, "P1.ordered-once", "the sequence has not had version \(last.version)")
        for (witness, token) in zip([serial, actor], tokens) { witness.settle(round) { token.deliveryCounts! } }
        for (witness, derived) in [(serial, pair.named), (actor, pair.read), (sequence, pair.read)] {
            let (value, version) = derived.snapshot()
            round.check(
                witness.last?.new == value.first && witness.last?.version == version,
                "P3.last-value",
                "an observer's last is version \(witness.last?.version ?? 0), and the value has version \(version)"
            )
        }
        iteration.cancel()
        // The task ends its observation when it comes to that.
        let isOver = waitWhileMoving { pair.read.observationCount == 1 }
        round.check(isOver, "P14.nothing-left", "a cancelled iteration goes on")
        for token in tokens { token.cancelAndWaitBlocking() }
        garage.end()
        round.checkRest()
    }
}

private actor ObservingStage {}

private struct Numbers: Equatable, Sendable { let first, second: UInt64 }

extension OrderedWitness {
    fileprivate func receive(_ change: Change<Numbers>, _ round: Round) {
        check(change.new.first == change.new.second, "P23.no-mixture", "received \(change.new)")
        receive(.init(change) { $0.first })
    }
}

/// How often a function has run, by thread.
private final class RunCounts: Sendable {
    private let counts = Guarded<[UInt: Int]>([:])
    private var thread: UInt { UInt(pthread_self()) }

    func increment() { counts.withLock { $0[thread, default: 0] += 1 } }

    /// Takes the runs of the calling thread since its last call.
    func take() -> Int { counts.withLock { $0.updateValue(0, forKey: thread) ?? 0 } }
}

/// Two sources that always change together, by one each, and take less time for it than what is
/// derived of them.
private final class RestlessPair: Sendable {
    private let (x, y) = (Observed<UInt64>(0), Observed<UInt64>(0))
    private let both: Group<(UInt64, UInt64)>
    private let runs: RunCounts
    /// By a function that reads, and by one that names what it needs.
    let read, named: Derived<Numbers>

    init() {
        let (x, y, runs) = (self.x, self.y, RunCounts())
        self.runs = runs
        both = Group(x, y)
        let slow = y.map { number in
            spin(nanoseconds: 2_000)
            return number
        }
        read = Derived { get in
            runs.increment()
            let first = get(x)
            spin(nanoseconds: 2_000)
            return Numbers(first: first, second: get(slow))
        }
        named = Derived(x, slow) { Numbers(first: $0, second: $1) }
    }

    func commit() {
        both.commit { transaction in
            transaction[x] += 1
            transaction[y] += 1
        }
    }

    func judge(_ worker: Worker) {
        _ = runs.take()
        let before = x.value
        let value = (worker.generator.oneIn(2) ? read : named).value
        worker.check(value.first == value.second, "P23.no-mixture", "read \(value)")
        worker.check(value.first >= before, "P22.current", "read \(value) after \(before)")
        // The last run was on copies.
        if runs.take() > 12 { worker.hit(0) }
    }
}

/// Two derived values. Each reads the other while the other does not read it.
private final class ChangingRing: Sendable {
    private let side = Observed(false)
    private let (first, second): (Derived<Int>, Derived<Int>)

    private final class Other: Sendable {
        private let held = Guarded<Derived<Int>?>(nil)
        var derived: Derived<Int> { held.withLock { $0! } }
        func hold(_ derived: Derived<Int>?) { held.withLock { $0 = derived } }
    }

    private let other = Other()

    init() {
        let (side, other) = (self.side, self.other)
        let first = Derived { get in get(side) ? 10 : get(other.derived) + 1 }
        second = Derived { get in get(side) ? get(first) + 1 : 20 }
        self.first = first
        other.hold(second)
    }

    deinit { other.hold(nil) }

    func change(_ worker: Worker) {
        side.modify { $0.toggle() }
        worker.hit(2)
    }

    func judge(_ worker: Worker) {
        let value = worker.generator.oneIn(2) ? first.value : second.value
        worker.check([10, 11, 20, 21].contains(value), "P23.no-mixture", "read \(value)")
    }
}

/// An object that lives until the next takes its place, and what is derived of its property through
/// a weak reference.
private final class MortalSource: Sendable {
    private final class Shed: WeaklyObservable {
        let lifetime = ReferentLifetime()
        let number: Observed<UInt64>

        init(_ number: UInt64) { self.number = Observed(number) }
    }

    private let weak = WeakObserved<Shed>()
    private let kept = Guarded<Shed?>(nil)
    private let last = Atomic<UInt64>(0)
    private let derived: Derived<UInt64?>
    private let token: ObservationToken

    init() {
        let weak = weak
        derived = Derived { get in get(weak).map { get($0.number) } }
        token = derived.observe { _ in checkUserCode("callback") }
    }

    /// Called by one thread only.
    func replace(_ worker: Worker) {
        let number = last.add(1, ordering: .sequentiallyConsistent).newValue
        let shed = Shed(2 * number)
        weak.value = shed
        // The one before dies outside the lock.
        _ = kept.withLock { kept in
            defer { kept = shed }
            return kept
        }
        shed.number.value += 1
        let value = derived.value
        worker.check(value == 2 * number + 1, "P22.current", "read \(String(describing: value)) of \(number)")
        guard worker.generator.oneIn(4) else { return }
        _ = kept.withLock { $0.take() }
        worker.hit(1)
    }

    func judge(_ worker: Worker) {
        let before = last.load(ordering: .sequentiallyConsistent)
        guard let value = derived.value else { return }
        worker.check(value / 2 + 1 >= before, "P22.current", "read \(value), and number \(before) was there")
    }

    /// A weak property whose referent lives observes its death.
    func end() {
        token.cancel()
        _ = kept.withLock { $0.take() }
    }
}
