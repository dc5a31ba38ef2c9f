// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P21 Groups with a path whose root dies")
    struct P21RootDeathTests {}
}

extension Promises.P21RootDeathTests {
    @Test(
        "P12 P21 The root of a member dies while a callback runs: no part of a later commit is received, and the end is",
        arguments: [false, true]
    )
    func whileACallbackRuns(isSerial: Bool) throws {
        let (end, other) = (Floor(), Observed(0))
        let root = Slot(House(end))
        let house = Weak(root.value!)
        let (log, ends) = (Log<String>(), Log<ObservationEnd>())
        let isOver = Signal("the end of the group's observation")
        @Sendable func commit(_ number: Int) {
            Group(end.number, other).commit { transaction in
                transaction[end.number] = number
                transaction[other] = number
            }
        }
        let token = Group(root.value!.property(\.floor.number), other).observe(delivery: isSerial ? .serial() : .inline)
        { change in
            log.append("\(change.new)")
            guard change.new == (1, 1) else { return }
            root.clear()
            // As other threads may, while this callback goes on.
            commit(2)
            other.value = 3
        }
        token.onEnd { reason in
            ends.append(reason)
            isOver.happen()
        }
        commit(1)
        try isOver.wait()
        #expect(house.object == nil)
        #expect(log.entries == ["(1, 1)"] && ends.entries == [.sourceDeleted])
    }

    @Test("P21 The root of a member dies beside commits: what is received is whole")
    func besideCommits() throws {
        let (end, other, mixtures) = (Floor(), Observed(0), Counter())
        let writers = Hammer(threads: 1) {
            Group(end.number, other).commit { transaction in
                transaction[end.number] += 1
                transaction[other] += 1
            }
        }
        try writers.waitUntilWarm()
        for _ in 0..<300 {
            var house: House? = House(end)
            var group: Group<(Int, Int)>? = Group(house!.property(\.floor.number), other)
            let isOver = Signal("the end of the group's observation")
            let token = group!.observe { change in if change.new.0 != change.new.1 { mixtures.increment() } }
            token.onEnd { _ in isOver.happen() }
            (group, house) = (nil, nil)
            try isOver.wait()
        }
        try writers.stop()
        #expect(mixtures.value == 0)
    }
}

private final class House: ConcurrentObservable {
    let floor: Observed<Floor>
    init(_ floor: Floor) { self.floor = Observed(floor) }
}

private final class Floor: ConcurrentObservable {
    let number = Observed(0)
}
