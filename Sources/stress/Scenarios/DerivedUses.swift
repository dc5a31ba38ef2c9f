// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Sources of derived values change faster than the functions run, die, and make derived values
    /// seem to need themselves. Observers use every ordered delivery.
    static let derivedUses = Scenario(
        name: "derived-uses",
        summary:
            "derived values of sources that never rest, that die, and seem to form rings; with serial observers, actors and sequences",
        invariants: [
            "P22.current", "P23.no-mixture", "P24.once-on-copies", "P25.ends", "P1.ordered-once", "P1.counts-add-up",
            "P2.one-at-a-time", "P2.ordered", "P2.ordered-chain", "P3.last-value", "P4.initial-first", "P12.end-last",
            "P5.no-lock-around-user-code", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a function has run many times for one read", "a source has died", "a ring has changed"],
        leastThreads: 4
    ) { round in
        DisturbedReads(round: round).judge()
        // Each commit evaluates the observed values before it returns. The sources of the
        // unobserved values change faster than a function runs.
        let (pair, restless, ring, garage) = (RestlessPair(), RestlessPair(), ChangingRing(), MortalSource())
        let followers = NumberFollowers(pair, round)
        round.load { worker in
            if worker.index == 0 { garage.replace(worker) }
            if worker.index == 1 { ring.change(worker) }
            switch worker.generator.below(8) {
            case 0:
                worker.begin("commit without rest")
                for _ in 0..<200 { restless.commit() }
            case 1...2:
                // These mailboxes have no bound.
                guard followers.tokens.allSatisfy({ $0.deliveryCounts!.pending < 1_000 }) else { return }
                worker.begin("commit")
                pair.commit()
            case 3...4: (worker.generator.oneIn(2) ? pair : restless).judge(worker)
            case 5: ring.judge(worker)
            default: garage.judge(worker)
            }
        }
        followers.settle(round)
        garage.end()
        round.checkRest()
    }
}

/// Observers of a pair's derived values: one serial, one on an actor, and one with a sequence.
private final class NumberFollowers: Sendable {
    let tokens: [ObservationToken]
    private let pair: RestlessPair
    private let listener = Listener()
    private let (serial, actor, sequence): (OrderedWitness, OrderedWitness, OrderedWitness)
    private let iteration: Task<Void, Never>

    init(_ pair: RestlessPair, _ round: Round) {
        func witness(_ name: String) -> OrderedWitness { OrderedWitness(name, round, beginsWithInitial: true) }
        let (serial, actor, sequence) = (witness("serial"), witness("actor"), witness("sequence"))
        tokens = [
            pair.named.observe(options: .initial, delivery: .serial()) { serial.receive($0, round) },
            pair.read.observe(on: listener, options: .initial) { _, change in actor.receive(change, round) },
        ]
        let changes = pair.read.changes(options: .initial)
        iteration = Task.detached { for await change in changes { sequence.receive(change, round) } }
        (self.pair, self.serial, self.actor, self.sequence) = (pair, serial, actor, sequence)
    }

    func settle(_ round: Round) {
        let last = pair.read.snapshot()
        round.wait(
            for: "P1.ordered-once",
            "the sequence has not had version \(last.version)",
            moving: { sequence.count }
        ) {
            sequence.count > 0 && sequence.lastVersion >= last.version
        }
        for (witness, token) in zip([serial, actor], tokens) { witness.settle(round) { token.deliveryCounts! } }
        for (witness, derived) in [(serial, pair.named), (actor, pair.read), (sequence, pair.read)] {
            let (value, version) = derived.snapshot()
            round.check(witness.last?.new == value.first && witness.last?.version == version, "P3.last-value") {
                "an observer's last is version \(witness.last?.version ?? 0), and the value has version \(version)"
            }
        }
        iteration.cancel()
        // The task ends its observation only when it runs again.
        round.wait(for: "P14.nothing-left", "a cancelled iteration goes on") { pair.read.observationCount == 1 }
        for token in tokens { token.cancelAndWaitBlocking() }
    }
}

private struct Numbers: Equatable, Sendable { let first, second: UInt64 }

extension OrderedWitness {
    fileprivate func receive(_ change: Change<Numbers>, _ round: Round) {
        check(change.new.first == change.new.second, "P23.no-mixture", "received \(change.new)")
        receive(.init(change) { $0.first })
    }
}

/// The number of runs of a function, by thread.
private final class RunCounts: Sendable {
    private let counts = Guarded<[UInt: Int]>([:])
    private var thread: UInt { UInt(pthread_self()) }

    func increment() { counts.withLock { $0[thread, default: 0] += 1 } }

    /// Returns the number of runs on the calling thread since its last call.
    func take() -> Int { counts.withLock { $0.updateValue(0, forKey: thread) ?? 0 } }
}

/// Two sources that always change together, by one each. A change takes less time than the
/// functions that read them.
private final class RestlessPair: Sendable {
    private let (x, y) = (Observed<UInt64>(0), Observed<UInt64>(0))
    private let both: Group<(UInt64, UInt64)>
    private let runs: RunCounts
    /// Derived values of both forms: one reads with a reader, one names its sources.
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
        worker.begin("read")
        _ = runs.take()
        let before = x.value
        let value = (worker.generator.oneIn(2) ? read : named).value
        worker.check(value.first == value.second, "P23.no-mixture", "read \(value)")
        worker.check(value.first >= before, "P22.current", "read \(value) after \(before)")
        // If there were so many runs, the last one was on copies.
        if runs.take() > 12 { worker.hit(0) }
    }
}

/// Two derived values. Each of them reads the other only while the other does not read it.
private final class ChangingRing: Sendable {
    private let side = Observed(false)
    private let (first, second): (Derived<Int>, Derived<Int>)

    private let other = Place<Derived<Int>>()

    init() {
        let (side, other) = (self.side, self.other)
        let first = Derived { get in get(side) ? 10 : get(other.content!) + 1 }
        second = Derived { get in get(side) ? get(first) + 1 : 20 }
        self.first = first
        _ = other.exchange(second)
    }

    deinit { _ = other.exchange(nil) }

    func change(_ worker: Worker) {
        worker.begin("change a ring")
        side.modify { $0.toggle() }
        worker.hit(2)
    }

    func judge(_ worker: Worker) {
        worker.begin("read a ring")
        let value = worker.generator.oneIn(2) ? first.value : second.value
        worker.check([10, 11, 20, 21].contains(value), "P23.no-mixture", "read \(value)")
    }
}

/// An object that lives until the next one replaces it, and derived values that depend on its
/// property through a weak reference.
private final class MortalSource: Sendable {
    private let weak = WeakObserved<WeakEnd>()
    private let kept = Place<WeakEnd>()
    private let last = Atomic<UInt64>(0)
    private let derived: Derived<UInt64?>
    private let token: ObservationToken

    init() {
        let weak = weak
        derived = Derived { get in get(weak).map { get($0.number) } }
        token = derived.observe { _ in checkUserCode("callback") }
    }

    /// Replaces the object by a new one. Only one thread may call it.
    func replace(_ worker: Worker) {
        worker.begin("replace a source")
        let number = last.add(1, ordering: .sequentiallyConsistent).newValue
        let shed = WeakEnd(2 * number)
        weak.value = shed
        // The previous object dies here.
        _ = kept.exchange(shed)
        shed.number.value += 1
        let value = derived.value
        worker.check(value == 2 * number + 1, "P22.current", "read \(String(describing: value)) of \(number)")
        guard worker.generator.oneIn(4) else { return }
        _ = kept.exchange(nil)
        worker.hit(1)
    }

    func judge(_ worker: Worker) {
        worker.begin("read what may die")
        let before = last.load(ordering: .sequentiallyConsistent)
        guard let value = derived.value else { return }
        worker.check(value / 2 + 1 >= before, "P22.current", "read \(value), and number \(before) was there")
    }

    /// Ends the observation, and releases the source. Otherwise the weak property would still
    /// observe the source's death.
    func end() {
        token.cancel()
        _ = kept.exchange(nil)
    }
}
