// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Bindings while everything around them moves: rounds of a pair, a one-way binding and a ring, all threads setting all sides.
    static let twoWayBinding = Scenario(
        name: "two-way-binding",
        summary: "setters on both sides of pairs, of chains and rings; sides die, bindings are cancelled",
        invariants: [
            "P3.pair-converges", "P3.destination-follows", "P3.last-update", "P6.hops-bounded", "P9.nothing-after-wait",
            "P11.not-retained", "P12.end-once", "P5.no-lock-around-user-code", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["both sides set at once", "went round a ring", "a side died", "cancelled under setters"]
    ) { epoch in
        let meeting = Rendezvous(epoch.threads)
        let ends = Atomic<Int>(0)
        let begun = Atomic<Int>(0)
        let place = Place<Round>()
        let count: @Sendable (ObservationToken) -> Void = { token in
            begun.add(1, ordering: .relaxed)
            token.onEnd { _ in
                checkUserCode("onEnd body")
                ends.add(1, ordering: .releasing)
            }
        }

        epoch.load { lane in
            lane.begin("wait for the others")
            guard meeting.arrive(epoch) else { return }
            if lane.index == 0 { _ = place.exchange(Round(count)) }
            guard meeting.arrive(epoch), let round = place.content else { return }
            lane.set(round)
            lane.begin("wait for the setters")
            guard meeting.arrive(epoch) else { return }
            if lane.index == 0 { lane.checkSettled(round, threads: epoch.threads) }
        }

        _ = place.exchange(nil)
        epoch.checkRest()
        let (started, ended) = (begun.load(ordering: .relaxed), ends.load(ordering: .acquiring))
        epoch.check(started == ended, "P12.end-once", "\(started) bindings, \(ended) ends")
    }
}

/// A place where all threads of an epoch meet.
private final class Rendezvous: Sendable {
    private let threads: UInt64
    private let arrivals = Atomic<UInt64>(0)

    init(_ threads: Int) { self.threads = UInt64(threads) }

    /// Waits for all. False if the epoch is over before they are here.
    func arrive(_ epoch: Epoch) -> Bool {
        // Acquire and release: what one did before the meeting happens before what another does after it.
        let mine = arrivals.add(1, ordering: .acquiringAndReleasing).oldValue
        let all = (mine / threads + 1) * threads
        while arrivals.load(ordering: .acquiring) < all {
            if epoch.isOver { return false }
            sched_yield()
        }
        return true
    }
}

/// What the threads set during one round.
private final class Round: Sendable {
    static let turns = 8

    let left = Observed<UInt64>(1)
    let right = Observed<UInt64>(2)
    /// Follows the left, in values of its own.
    let follower = Observed(Payload(0))
    let ring = (0..<3).map { Observed(UInt64($0)) }
    /// Pairs that are bound by two calls, from both ends. Each is set in one turn, once by each
    /// thread: how a meeting ends shows.
    let doubly = (0..<Round.turns).map { _ in (Observed<UInt64>(3), Observed<UInt64>(4)) }
    /// Bound to each other, and cancelled in the round.
    let parted = (Observed<UInt64>(0), Observed<UInt64>(0))
    let parting: ObservationToken
    /// Follows the left, and dies in the round.
    let mortal = Place<Observed<UInt64>>()
    private let spare = Observed<UInt64>(0)
    private let kept: [ObservationToken]

    /// Changes that the bindings have made when the threads begin.
    let first: (pair: UInt64, ring: UInt64)

    init(_ count: @escaping @Sendable (ObservationToken) -> Void) {
        let ring = ring
        let dies = Observed<UInt64>(0)
        let fromBothEnds: [ObservationToken] = doubly.flatMap { left, right in
            [left.bindBidirectionally(with: right), right.bindBidirectionally(with: left)]
        }
        parting = parted.0.bindBidirectionally(with: parted.1)
        kept =
            ring.indices.map { index in
                ring[index].bind(to: ring[(index + 1) % ring.count]) { value in
                    checkUserCode("transform")
                    return value ^ 1 << 62
                }
            } + [
                left.bindBidirectionally(with: right), left.bind(to: dies), spare.bindBidirectionally(with: dies),
                left.bind(to: follower) { value in
                    checkUserCode("transform")
                    return Payload(value)
                },
                follower.observe { _ in checkUserCode("callback") },
            ]
            + fromBothEnds
        first = (left.version + right.version, ring.reduce(0) { $0 + $1.version })
        _ = mortal.exchange(dies)
        for token in kept + [parting] { count(token) }
    }

    /// Whether a binding of the property that has died goes on.
    var survivors: Int { kept[4...5].count { $0.isActive } }
}

/// A value that lives in a box.
private struct Payload: Sendable {
    private final class Reference: Sendable {
        let number: UInt64
        init(_ number: UInt64) { self.number = number }
    }
    private let reference: Reference

    init(_ number: UInt64) { reference = Reference(number) }
    var number: UInt64 { reference.number }
}

// MARK: - What the threads do

extension Lane {
    /// One thread's part of a round.
    fileprivate func set(_ round: Round) {
        for turn in 0..<Round.turns {
            let value = uniqueSerial()
            begin("set a side of a pair")
            let (own, other) = index & 1 == 0 ? (round.left, round.right) : (round.right, round.left)
            own.value = value
            if other.value != value { hit(0) }
            begin("set a side of a pair that is bound from both ends")
            if index & 1 == 0 { round.doubly[turn].0.value = value } else { round.doubly[turn].1.value = value }
            begin("set a ring")
            let side = round.ring[(index + turn) % round.ring.count]
            let before = side.version
            side.value = value
            if side.version > before + 1 { hit(1) }
            begin("set one side of a pair that is being cancelled")
            if index > 1 { round.parted.1.value = value }
            guard turn == Round.turns / 2 else { continue }
            if index == 0 {
                begin("drop a side")
                _ = round.mortal.exchange(nil)
                hit(2)
            } else if index == 1 {
                begin("cancel a pair")
                round.parting.cancelAndWaitBlocking()
                // Nobody else sets this side: it stays.
                round.parted.0.value = 1
                let seen = round.parted.1.value
                check(seen != 1, "P9.nothing-after-wait", "a pair goes on forwards after cancelAndWait")
                hit(3)
            }
        }
    }

    /// Checks a round whose setters have all returned. One thread.
    fileprivate func checkSettled(_ round: Round, threads: Int) {
        begin("check")
        let sets = UInt64(threads * Round.turns)
        check(
            round.left.value == round.right.value,
            "P3.pair-converges",
            "the left has \(round.left.value), the right \(round.right.value)"
        )
        for (left, right) in round.doubly {
            check(
                left.value == right.value,
                "P3.pair-converges",
                "bound from both ends, one side has \(left.value), the other \(right.value)"
            )
        }
        check(
            round.follower.value.number == round.left.value,
            "P3.destination-follows",
            "the source has \(round.left.value), the destination \(round.follower.value.number)"
        )
        let changes = round.left.version + round.right.version - round.first.pair
        let roundTheRing = round.ring.reduce(0) { $0 + $1.version } - round.first.ring
        check(changes <= 2 * sets, "P6.hops-bounded", "\(changes) changes of a pair after \(sets)")
        check(roundTheRing <= 4 * sets, "P6.hops-bounded", "\(roundTheRing) changes round a ring after \(sets)")
        for side in [round.right, round.left] {
            let value = uniqueSerial()
            side.value = value
            check(
                round.left.value == value && round.right.value == value && round.follower.value.number == value,
                "P3.last-update",
                "set to \(value) when all was quiet: \(round.left.value), \(round.right.value)"
            )
        }
        let parted = round.parted.0.value
        check(parted == 1, "P9.nothing-after-wait", "a pair went on backwards after cancelAndWait: \(parted)")
        let survivors = round.survivors
        check(survivors == 0, "P11.not-retained", "\(survivors) bindings of a property without references go on")
    }
}
