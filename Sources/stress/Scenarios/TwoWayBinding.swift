// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Bindings of all kinds while all threads set all sides. Again and again, a pair, a one-way
    /// binding and a ring are made and ended.
    static let twoWayBinding = Scenario(
        name: "two-way-binding",
        summary: "setters on both sides of pairs, of chains and rings; sides die, bindings are cancelled",
        invariants: [
            "P3.pair-converges", "P3.destination-follows", "P3.no-echo", "P3.last-update", "P6.propagation-bounded",
            "P8.both-sides-end", "P9.nothing-after-wait", "P11.not-retained", "P12.end-once",
            "P5.no-lock-around-user-code",
        ] + checkedAtRest,
        windows: ["both sides set at once", "went round a ring", "a side died", "cancelled under setters"]
    ) { round in
        let meeting = Rendezvous(round.threads)
        let (begun, ends) = (Tally(), Tally())
        let place = Place<Bindings>()
        let count: @Sendable (ObservationToken) -> Void = { token in
            begun.increment()
            token.onEnd { _ in
                checkUserCode("onEnd body")
                ends.increment()
            }
        }

        round.load { worker in
            worker.begin("wait for the others")
            guard meeting.arrive(round) else { return }
            if worker.index == 0 { _ = place.exchange(Bindings(count)) }
            guard meeting.arrive(round), let bindings = place.content else { return }
            worker.set(bindings)
            worker.begin("wait for the setters")
            guard meeting.arrive(round) else { return }
            if worker.index == 0 { worker.checkSettled(bindings, threads: round.threads) }
        }

        _ = place.exchange(nil)
        checkCyclesFromAfar(round)
        checkEndsOfPairs(round)
        checkCorrections(round)
        checkCancellationInATransform(round)
        checkCycleInACallback(round)
        checkPairWithOtherTransforms(round)
        round.checkRest()
        round.check("the number of ends", ends.value, is: begun.value, "P12.end-once")
    }
}

/// A place where all threads of a round wait for each other.
private final class Rendezvous: Sendable {
    private let threads: UInt64
    private let arrivals = Atomic<UInt64>(0)

    init(_ threads: Int) { self.threads = UInt64(threads) }

    /// Waits for all threads. Returns false if the round is over before they have arrived.
    func arrive(_ round: Round) -> Bool {
        // Acquire and release: the actions of each thread before the meeting happen before the
        // actions of the others after it.
        let mine = arrivals.add(1, ordering: .acquiringAndReleasing).oldValue
        let all = (mine / threads + 1) * threads
        while arrivals.load(ordering: .acquiring) < all {
            if round.isOver { return false }
            sched_yield()
        }
        return true
    }
}

/// The properties that the threads set while one set of bindings exists.
private final class Bindings: Sendable {
    static let cycles = 8

    let left = Observed<UInt64>(1)
    let right = Observed<UInt64>(2)
    /// Follows the left property, with values of its own type.
    let follower = Observed(BoxedNumber(0))
    let ring = (0..<3).map { Observed(UInt64($0)) }
    /// Pairs that are bound by two calls, one from each end. Each thread sets each pair once, in a
    /// cycle of its own, so the pair shows at once whether its sides agree.
    let doubly = (0..<Bindings.cycles).map { _ in (Observed<UInt64>(3), Observed<UInt64>(4)) }
    let afar = FollowersFromAfar()
    let throughPaths = [CycleThroughPath(back: .toNumber), CycleThroughPath(back: .toEnd)]
    /// Bound to each other. The binding is cancelled while the threads set the properties.
    let parted = (Observed<UInt64>(0), Observed<UInt64>(0))
    let parting: ObservationToken
    /// Follows the left property, and dies while the threads set the properties.
    let mortal = Place<Observed<UInt64>>()
    private let third = Observed<UInt64>(0)
    private let kept: [ObservationToken]

    /// The numbers of changes that the bindings have made before the threads begin.
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
                left.bindBidirectionally(with: right), left.bind(to: dies), third.bindBidirectionally(with: dies),
                left.bind(to: follower) { value in
                    checkUserCode("transform")
                    return BoxedNumber(value)
                },
                follower.observe { _ in checkUserCode("callback") },
            ]
            + fromBothEnds
        first = (left.version + right.version, ring.reduce(0) { $0 + $1.version })
        _ = mortal.exchange(dies)
        for token in kept + [parting] { count(token) }
    }

    /// The number of bindings of the dead property that are still active.
    var survivors: Int { kept[4...5].count { $0.isActive } }
}

// MARK: - What the threads do

extension Worker {
    /// One thread's part of the work on one set of bindings.
    fileprivate func set(_ bindings: Bindings) {
        for cycle in 0..<Bindings.cycles {
            let value = uniqueSerial()
            begin("set a side of a pair")
            let (own, other) = index & 1 == 0 ? (bindings.left, bindings.right) : (bindings.right, bindings.left)
            own.value = value
            if other.value != value { hit(0) }
            begin("set a side of a pair that is bound from both ends")
            if index & 1 == 0 { bindings.doubly[cycle].0.value = value } else { bindings.doubly[cycle].1.value = value }
            begin("set what a path and a group lead to")
            bindings.afar.set(value &* 8 | 1)
            begin("set a cycle through a path")
            for path in bindings.throughPaths { path.set(value &* 64) }
            begin("set a ring")
            let side = bindings.ring[(index + cycle) % bindings.ring.count]
            let before = side.version
            side.value = value
            if side.version > before + 1 { hit(1) }
            begin("set one side of a pair that is being cancelled")
            if index > 1 { bindings.parted.1.value = value }
            guard cycle == Bindings.cycles / 2 else { continue }
            if index == 0 {
                begin("drop a side")
                _ = bindings.mortal.exchange(nil)
                hit(2)
            } else if index == 1 {
                begin("cancel a pair")
                bindings.parting.cancelAndWaitBlocking()
                // No other thread sets this side, so its value stays.
                bindings.parted.0.value = 1
                let seen = bindings.parted.1.value
                check(seen != 1, "P9.nothing-after-wait", "a pair goes on forwards after cancelAndWait")
                hit(3)
            }
        }
    }

    /// Checks the bindings after all setters have returned. Only one thread calls it.
    fileprivate func checkSettled(_ bindings: Bindings, threads: Int) {
        begin("check")
        let sets = UInt64(threads * Bindings.cycles)
        let (left, right, follower) = (bindings.left, bindings.right, bindings.follower)
        check("the right of a pair", right.value, is: left.value, "P3.pair-converges")
        for (left, right) in bindings.doubly {
            check("the right of a pair that is bound from both ends", right.value, is: left.value, "P3.pair-converges")
        }
        check("the left's destination", follower.value.serial, is: left.value, "P3.destination-follows")
        bindings.afar.check(self)
        for path in bindings.throughPaths { path.check(self) }
        let changes = left.version + right.version - bindings.first.pair
        let roundTheRing = bindings.ring.reduce(0) { $0 + $1.version } - bindings.first.ring
        check(changes <= 2 * sets, "P6.propagation-bounded", "\(changes) changes of a pair after \(sets)")
        check(roundTheRing <= 4 * sets, "P6.propagation-bounded", "\(roundTheRing) changes round a ring after \(sets)")
        for side in [right, left] {
            let value = uniqueSerial()
            side.value = value
            let values = [left.value, right.value, follower.value.serial]
            check("what a quiet pair has", values, is: [value, value, value], "P3.last-update")
        }
        check("a side that was set after cancelAndWait", bindings.parted.0.value, is: 1, "P9.nothing-after-wait")
        check("the number of bindings of a dead property", bindings.survivors, is: 0, "P11.not-retained")
    }
}
