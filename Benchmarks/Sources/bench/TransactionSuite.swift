// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization

/// Measures commits and snapshots of groups. On one thread, the references are one plain set and
/// one read. With a writer, the reference is one mutex.
enum TransactionSuite {
    static let cases = [
        commitOfTwo, commitOfMany, commitObserved, snapshotOfTwo, snapshotOfFour, snapshotOfMany, snapshotIntoArray,
        snapshotBesideCommits,
    ]

    private static let commitOfTwo = Case(name: "group.commit.2", unit: .nanoseconds, bar: .commit(of: 2)) { effort in
        let (first, second) = (Observed(0), Observed(0))
        let group = Group(first, second)
        let times = effort.work(200_000)
        return Case.Sides(
            ours: { nanoseconds { commitInLoop(group, first, second, times) } / Double(times) },
            reference: { nanoseconds { setBothInLoop(first, second, times) } / Double(2 * times) }
        )
    }

    private static let commitOfMany = Case(name: "list.commit.8", unit: .nanoseconds, bar: .commit(of: 8)) { effort in
        let properties = (0..<8).map { Observed($0) }
        let list = PropertyList(properties)
        let times = effort.work(50_000)
        return Case.Sides(
            ours: {
                nanoseconds {
                    for value in 0..<times {
                        list.commit { transaction in
                            for property in properties { transaction[property] = value }
                        }
                    }
                } / Double(times)
            },
            reference: {
                nanoseconds { for value in 0..<times { for property in properties { property.value = value } } }
                    / Double(properties.count * times)
            }
        )
    }

    /// One observer of the group. The reference has one observer at each of two properties, which
    /// are set one by one.
    private static let commitObserved = Case(
        name: "group.commit.2-observed",
        unit: .nanoseconds,
        bar: .compared("the commit without an observer has a bar, and so has a notification")
    ) { effort in
        let (first, second, counter) = (Observed(0), Observed(0), Counter())
        let group = Group(first, second)
        let token = group.observe { change in counter.value &+= change.new.0 }
        let (plainFirst, plainSecond, plain) = (Observed(0), Observed(0), Counter())
        let tokens = [plainFirst, plainSecond].map { $0.observe { change in plain.value &+= change.new } }
        let times = effort.work(50_000)
        return Case.Sides(
            ours: {
                withExtendedLifetime(token) { nanoseconds { commitInLoop(group, first, second, times) } }
                    / Double(times)
            },
            reference: {
                withExtendedLifetime(tokens) { nanoseconds { setBothInLoop(plainFirst, plainSecond, times) } }
                    / Double(times)
            }
        )
    }

    // The reference is one read in a function of its own, as `property.read.int` is measured. Reads
    // that are inlined into a loop share work that the compiler moves out of the loop. A single
    // read must do this work.
    private static let snapshotOfTwo = Case(name: "group.snapshot.2", unit: .nanoseconds, bar: .snapshot(of: 2)) {
        effort in
        let (first, second) = (Observed(0), Observed(0))
        let group = Group(first, second)
        let times = effort.work(500_000)
        return Case.Sides(
            ours: { nanoseconds { snapshotInLoop(group, times) } / Double(times) },
            reference: {
                nanoseconds {
                    readSingly(first, times)
                    readSingly(second, times)
                } / Double(2 * times)
            }
        )
    }

    private static let snapshotOfFour = Case(name: "group.snapshot.4", unit: .nanoseconds, bar: .snapshot(of: 4)) {
        effort in
        let properties = (0..<4).map { Observed($0) }
        let group = Group(properties[0], properties[1], properties[2], properties[3])
        let times = effort.work(500_000)
        return Case.Sides(
            ours: { nanoseconds { snapshotOfFourInLoop(group, times) } / Double(times) },
            reference: {
                nanoseconds { for property in properties { readSingly(property, times) } }
                    / Double(properties.count * times)
            }
        )
    }

    private static let snapshotOfMany = Case(name: "list.snapshot.8", unit: .nanoseconds, bar: .snapshot(of: 8)) {
        effort in
        let properties = (0..<8).map { Observed($0) }
        let list = PropertyList(properties)
        let times = effort.work(100_000)
        return Case.Sides(
            ours: { nanoseconds { for _ in 0..<times { consume(list.value.count) } } / Double(times) },
            reference: {
                nanoseconds { for property in properties { readSingly(property, times) } }
                    / Double(properties.count * times)
            }
        )
    }

    /// The reference is the same array, made of single reads. The figure is the cost of a list's
    /// snapshot in addition to its array.
    private static let snapshotIntoArray = Case(
        name: "list.snapshot.8-into-array",
        unit: .nanoseconds,
        bar: .ratio(2)
    ) { effort in
        let properties = (0..<8).map { Observed($0) }
        let list = PropertyList(properties)
        let times = effort.work(100_000)
        return Case.Sides(
            ours: { nanoseconds { for _ in 0..<times { consume(list.value.count) } } / Double(times) },
            reference: { nanoseconds { for _ in 0..<times { consume(readEach(properties).count) } } / Double(times) }
        )
    }

    /// A snapshot while another thread commits without a pause. The reference is a pair behind a
    /// mutex while another thread changes it.
    private static let snapshotBesideCommits = Case(
        name: "group.snapshot.2-beside-commits",
        unit: .nanoseconds,
        bar: .snapshotBesideCommits,
        summary: .median
    ) { _ in
        let (first, second) = (Observed(0), Observed(0))
        let (group, pair) = (Group(first, second), MutexPair())
        let times = 100_000
        return Case.Sides(
            ours: {
                nanosecondsPerOperation(times, { snapshotInLoop(group, $0) }) { commitInLoop(group, first, second, $0) }
            },
            reference: {
                nanosecondsPerOperation(times, { times in for _ in 0..<times { consume(pair.sum) } }) { times in
                    for value in 0..<times { pair.set(value) }
                }
            }
        )
    }
}

private final class MutexPair: Sendable {
    private let values = Mutex((0, 0))

    func set(_ value: Int) { values.withLock { $0 = (value, value) } }
    var sum: Int { values.withLock { $0.0 &+ $0.1 } }
}

@inline(never)
func commitInLoop(_ group: Group<(Int, Int)>, _ first: Observed<Int>, _ second: Observed<Int>, _ times: Int) {
    for value in 0..<times {
        group.commit { transaction in
            transaction[first] = value
            transaction[second] = value
        }
    }
}

@inline(never)
func transferInLoop(_ group: Group<(Int, Int)>, _ from: Observed<Int>, _ to: Observed<Int>, _ times: Int) {
    for _ in 0..<times {
        group.commit { transaction in
            transaction[from] &-= 1
            transaction[to] &+= 1
        }
    }
}

@inline(never)
private func setBothInLoop(_ first: Observed<Int>, _ second: Observed<Int>, _ times: Int) {
    for value in 0..<times {
        first.value = value
        second.value = value
    }
}

@inline(never)
private func snapshotOfFourInLoop(_ group: Group<(Int, Int, Int, Int)>, _ times: Int) {
    var sum = 0
    for _ in 0..<times {
        let value = group.value
        sum &+= value.0 &+ value.1 &+ value.2 &+ value.3
    }
    consume(sum)
}

/// Returns the values, read one by one, which need not have been present together.
@inline(never)
private func readEach(_ properties: [Observed<Int>]) -> [Int] { properties.map { $0.value } }

@inline(never)
func snapshotInLoop(_ group: Group<(Int, Int)>, _ times: Int) {
    var sum = 0
    for _ in 0..<times {
        let (first, second) = group.value
        sum &+= first &+ second
    }
    consume(sum)
}
