// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Threads take snapshots while four writers commit. One writer stays in its body for up to a
    /// minute.
    static let parkedInCommit = Scenario(
        name: "parked-in-commit",
        summary: "snapshots against three writers, and a fourth that stays in the body of a commit",
        invariants: ["P20.present-together", "P20.no-fallback-for-a-body", "P2.version-fits", "P16.backlog-drains"],
        windows: ["a snapshot was taken beside the parked body"],
        leastThreads: 5
    ) { round in
        let accounts = (0..<16).map { _ in Observed(ParkedInCommit.balance) }
        // `parked` has the accounts of the parked body. The other writers move money between the
        // `busy` ones.
        let (parked, busy) = (PropertyList(Array(accounts.prefix(4))), Array(accounts.dropFirst(4)))
        let all = PropertyList(accounts)
        let isParked = Atomic<Bool>(false)
        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("commit, and stay")
                let deadline = nanoseconds() + ParkedInCommit.longest
                parked.commit { transaction in
                    transaction[accounts[0]] -= 1
                    isParked.store(true, ordering: .sequentiallyConsistent)
                    while !round.isOver, nanoseconds() < deadline {
                        // The heartbeat shows the watchdog that the worker stays here on purpose.
                        worker.heartbeat.add(1, ordering: .relaxed)
                        usleep(1_000)
                    }
                    isParked.store(false, ordering: .sequentiallyConsistent)
                    transaction[accounts[1]] += 1
                }
            },
            Round.Role(threads: 3) { worker in
                worker.begin("move")
                worker.move(busy)
                usleep(ParkedInCommit.pause)
            },
            Round.Role(threads: round.threads - 4) { worker in
                worker.begin("snapshots")
                for _ in 0..<64 { worker.takeSnapshots(all, parked, isParked) }
                worker.checks += 128
            },
        ])
        round.check(all.value.reduce(0, +) == 16 * ParkedInCommit.balance, "P20.present-together") {
            "at rest the sum is off by \(all.value.reduce(0, +) - 16 * ParkedInCommit.balance)"
        }
        round.checkRest()
    }
}

private enum ParkedInCommit {
    static let balance = 1_000
    /// The longest time in the body, in nanoseconds.
    static let longest: UInt64 = 60_000_000_000
    /// The pause between two commits of a writer, in microseconds, so that snapshots can be taken.
    static let pause: UInt32 = 20
}

extension Worker {
    fileprivate func move(_ accounts: [Observed<Int>]) {
        let start = Int(generator.below(accounts.count))
        let (from, to) = (accounts[start], accounts[(start + 1 + Int(generator.below(11))) % accounts.count])
        Group(from, to).commit { transaction in
            transaction[from] -= 1
            transaction[to] += 1
        }
    }

    /// Takes a snapshot of all accounts, and one of the parked body's accounts. No other thread
    /// changes these, so their snapshot must return at once.
    fileprivate func takeSnapshots(
        _ all: PropertyList<Observed<Int>>,
        _ parked: PropertyList<Observed<Int>>,
        _ isParked: borrowing Atomic<Bool>
    ) {
        let sum = all.value.reduce(0, +)
        if sum != 16 * ParkedInCommit.balance {
            check(false, "P20.present-together", "the sum is off by \(sum - 16 * ParkedInCommit.balance)")
        }
        let before = isParked.load(ordering: .sequentiallyConsistent)
        let (heldOff, version) = (snapshotsHeldOff, parked.version)
        let (values, seen) = parked.snapshot()
        guard before, isParked.load(ordering: .sequentiallyConsistent), parked.version == version else { return }
        hit(0)
        if values.reduce(0, +) != 4 * ParkedInCommit.balance || seen != version {
            check(false, "P2.version-fits", "beside a parked body: \(values), version \(seen)")
        }
        if snapshotsHeldOff != heldOff {
            check(false, "P20.no-fallback-for-a-body", "a snapshot held off publication because of a body")
        }
    }
}
