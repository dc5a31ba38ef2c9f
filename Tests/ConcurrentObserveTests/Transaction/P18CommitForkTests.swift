// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P18 Fork: commits")
    struct P18CommitForkTests {}
}

/// Uses a new group in every way. True if all of it worked.
private func useNewGroup() -> Bool {
    let (first, second, calls) = (Observed(0), Observed("0"), Counter())
    let group = Group(second, first)
    let token = group.observe { _ in calls.increment() }
    for number in 1...5 {
        group.commit { transaction in
            transaction[first] = number
            transaction[second] = "\(number)"
        }
        guard group.value == ("\(number)", number) else { return false }
    }
    return calls.value == 5 && waitsForTheEnd(of: token) && first.version == 5
}

extension Promises.P18CommitForkTests {
    @Test("P18 P19 P20 Beside commits of other threads, a child reads all or nothing of one, and commits to others")
    func besideCommits() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let (first, second) = (Observed(0), Observed("0"))
            let (there, back) = (Group(first, second), Group(second, first))
            check(useNewGroup(), "before the fork")
            let hammer = Hammer(threads: 3) {
                back.commit { transaction in
                    transaction[first] += 1
                    transaction[second] = "\(transaction[first])"
                }
            }
            try hammer.waitUntilWarm()
            for round in 0..<40 {
                let status = inChild {
                    let (number, text) = there.value
                    let again = back.snapshot()
                    return text == "\(number)" && again.value == (text, number) && again.version == UInt64(2 * number)
                        && useNewGroup()
                }
                check(status == 0, "the child of round \(round): \(status)")
            }
            try hammer.stop()
            check(useNewGroup() && "\(first.value)" == second.value, "after the forks")
        }
    }

    @Test(
        "P18 A child changes a member of an observed group, another member of which a thread of the parent was changing"
    )
    func otherMember() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let (first, second) = (Observed(0), Observed(0))
            let token = Group(first, second).observe { _ in }
            let hammer = Hammer(threads: 2) { first.value += 1 }
            try hammer.waitUntilWarm()
            for round in 0..<60 {
                let status = inChild {
                    let received = Counter()
                    let token = second.observe { _ in received.increment() }
                    for number in 1...3 { second.value = number }
                    Group(second, Observed(0)).commit { transaction in transaction[second] = 4 }
                    token.cancel()
                    return second.value == 4 && received.value == 4
                }
                check(status == 0, "the child of round \(round): \(status)")
            }
            try hammer.stop()
            token.cancel()
        }
    }

    @Test("P18 P20 Members that another thread had in a commit's body are read and observed in the child")
    func besideBody() async {
        await #expect(processExitsWith: .success) {
            try forkBesideCommit { first, second in
                let status = inChild {
                    let calls = Counter()
                    try? onThreads(3) { _ in
                        let token = Group(first, second).observe(options: .initial) { change in
                            if change.new == (0, "0") { calls.increment() }
                        }
                        token.cancel()
                    }
                    return Group(second, first).value == ("0", 0) && calls.value == 3 && useNewGroup()
                }
                check(status == 0, "the child: \(status)")
            }
        }
    }

    @Test("P18 P19 Committing to them traps in the child")
    func commitBesideBody() async {
        await #expect(processExitsWith: .success) {
            try forkBesideCommit { first, second in
                let other = Observed(0)
                let status = inChild {
                    Group(other, second).commit { transaction in transaction[other] = 1 }
                    return true
                }
                check(status > 256, "the child: \(status)")
                let untouched = inChild {
                    Group(other, Observed(0)).commit { transaction in transaction[other] = 1 }
                    return other.value == 1
                }
                check(untouched == 0, "the child with other members: \(untouched)")
            }
        }
    }
}

/// Runs `body` while a thread is in the body of a commit to both properties.
private func forkBesideCommit(_ body: (Observed<Int>, Observed<String>) throws -> Void) throws {
    Process.limitLife(seconds: 60)
    let (first, second) = (Observed(0), Observed("0"))
    check(useNewGroup(), "before the fork")
    let (entered, exit) = (Signal("the body"), Signal("the body's release"))
    let thread = TestThread {
        Group(first, second).commit { transaction in
            transaction[first] = 1
            transaction[second] = "1"
            entered.happen()
            exit.hold()
        }
    }
    try entered.wait()
    try body(first, second)
    exit.happen()
    try thread.join()
    check(Group(first, second).value == (1, "1") && useNewGroup(), "after the fork")
}
