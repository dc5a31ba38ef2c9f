// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization

/// Measures dining philosophers. Each seat has a derived value of two forks, and each fork one of
/// the two seats next to it. Two threads choose seats at random, eat, and leave. The other side has
/// the same derived values, and has locks instead of commits: those of three seats, in order.
enum PhilosopherSuite {
    static let cases = [16, 32].map(competition)

    private static func competition(_ seats: Int) -> Case {
        Case(
            name: "derived.philosophers.\(seats)-seats-2-threads",
            unit: .nanoseconds,
            bar: .philosophers,
            summary: .median
        ) { _ in
            let (ours, theirs) = (Table(seats), Table(seats))
            let (oneCommits, otherCommits) = (player(ours, 1, Table.eatByCommit), player(ours, 2, Table.eatByCommit))
            let (oneLocks, otherLocks) = (player(theirs, 1, Table.eatByLocks), player(theirs, 2, Table.eatByLocks))
            let times = 2_000
            return Case.Sides(
                ours: { nanosecondsPerOperation(times, [oneCommits, otherCommits]) },
                reference: { nanosecondsPerOperation(times, [oneLocks, otherLocks]) }
            )
        }
    }

    /// Makes a thread that tries to eat at one seat after the other.
    private static func player(
        _ table: Table,
        _ seed: UInt64,
        _ eat: @escaping @Sendable (Table) -> (Int) -> Bool
    ) -> @Sendable (Int) -> Void {
        { times in
            var state = seed
            var meals = 0
            for _ in 0..<times {
                // The random numbers of MMIX (Knuth, The Art of Computer Programming, 3.3.4).
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                if eat(table)(Int(state >> 33) % table.seats.count) { meals += 1 }
            }
            consume(meals)
        }
    }

    private enum Sight: Int { case ready, eating, waiting }

    private final class Table: Sendable {
        let seats: [Observed<Bool>]
        private let sights: [Derived<Sight>]
        /// A seat and its neighbours.
        private let neighbourhoods: [PropertyList<Observed<Bool>>]
        private let locks: [SeatLock]

        init(_ count: Int) {
            let seats = (0..<count).map { _ in Observed(false) }
            // 0 means that the fork is free. 1 and 2 mean that the seat before it or after it has
            // it.
            let forks = (0..<count).map { index in
                Derived(seats[index], seats[(index + 1) % count]) { before, behind in before ? 1 : behind ? 2 : 0 }
            }
            sights = (0..<count).map { index in
                Derived(forks[(index + count - 1) % count], forks[index]) { left, right in
                    left == 2 && right == 1 ? .eating : left == 0 && right == 0 ? .ready : .waiting
                }
            }
            neighbourhoods = (0..<count).map { index in
                PropertyList([seats[(index + count - 1) % count], seats[index], seats[(index + 1) % count]])
            }
            locks = (0..<count).map { _ in SeatLock() }
            self.seats = seats
        }

        func eatByCommit(_ seat: Int) -> Bool {
            guard sights[seat].value == .ready, takeByCommit(seat) else { return false }
            expectToEat(seat)
            seats[seat].value = false
            return true
        }

        private func takeByCommit(_ seat: Int) -> Bool {
            let count = seats.count
            return neighbourhoods[seat].commit { transaction in
                if transaction[seats[(seat + count - 1) % count]] || transaction[seats[seat]]
                    || transaction[seats[(seat + 1) % count]]
                {
                    return false
                }
                transaction[seats[seat]] = true
                return true
            }
        }

        func eatByLocks(_ seat: Int) -> Bool {
            guard sights[seat].value == .ready, takeByLocks(seat) else { return false }
            expectToEat(seat)
            locks[seat].lock.withLock { _ in seats[seat].value = false }
            return true
        }

        private func takeByLocks(_ seat: Int) -> Bool {
            let count = seats.count
            let (left, right) = ((seat + count - 1) % count, (seat + 1) % count)
            let first = min(left, seat, right)
            let third = max(left, seat, right)
            let second = left + seat + right - first - third
            return locks[first].lock.withLock { _ in
                locks[second].lock.withLock { _ in
                    locks[third].lock.withLock { _ in
                        if seats[left].value || seats[seat].value || seats[right].value { return false }
                        seats[seat].value = true
                        return true
                    }
                }
            }
        }

        private func expectToEat(_ seat: Int) {
            precondition(sights[seat].value == .eating, "a seat with both forks eats")
        }
    }

    private final class SeatLock: Sendable {
        let lock = Mutex<Void>(())
    }
}
