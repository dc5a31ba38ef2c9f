// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

extension Promises {
    @Suite("P3 Convergence")
    struct P03ConvergenceTests {}
}

/// An observer that keeps the latest value that it received, as programs do.
private final class Follower<Value: Numbered>: Sendable {
    private let state = Mutex<(value: Value, version: UInt64)?>(nil)

    var latest: (value: Value, version: UInt64)? { state.withLock { $0 } }

    func follow(_ property: Observed<Value>, _ options: ObservationOptions) -> ObservationToken {
        property.observe(options: options) { (change: Change<Value>) in
            self.state.withLock { if change.version >= $0?.version ?? 0 { $0 = (change.new, change.version) } }
        }
    }
}

extension Promises.P03ConvergenceTests {
    @Test(
        "P3 When the writers have stopped, each observer's highest version has the value",
        arguments: numberedTypes.indices
    )
    func converges(index: Int) throws { try everyObserverConverges(numberedType(index)) }

    private func everyObserverConverges<Value: Numbered>(_ type: Value.Type) throws {
        for _ in 0..<10 {
            let property = Observed(Value(number: 0))
            let followers = (0..<20).map { _ in Follower<Value>() }
            let tokens = followers.map { $0.follow(property, []) }
            let late = Log<Follower<Value>>()
            let lateTokens = Log<ObservationToken>()
            try onThreads(5) { thread in
                for round in 0..<50 {
                    let value = Value(number: thread * 1_000 + round)
                    switch thread {
                    case 0: property.value = value
                    case 1: property.exchange(value)
                    case 2: property.modify { $0 = value }
                    case 3: property.compareExchange(expected: property.value, desired: value)
                    default:
                        // Some come while the others write, and know the value from the start.
                        let follower = Follower<Value>()
                        lateTokens.append(follower.follow(property, .initial))
                        late.append(follower)
                    }
                }
            }
            let (value, version) = property.snapshot()
            for follower in followers + late.entries {
                #expect(follower.latest?.version == version)
                #expect(follower.latest?.value == value)
            }
            withExtendedLifetime((tokens, lateTokens)) {}
        }
        try Process.settle()
    }

    @Test("P3 The last of two updates is not missed, however close they are")
    func lastUpdate() throws {
        for _ in 0..<500 {
            let property = Observed(0)
            let received = ReceivedChanges<Int>()
            let token = property.observe(received)
            try onThreads(2) { property.value = $0 + 1 }
            let last = received.changes.max { $0.version < $1.version }
            #expect(received.versions == [1, 2])
            #expect(last?.new == property.value)
            withExtendedLifetime(token) {}
        }
    }

    @Test("P3 What is computed of two properties in both their callbacks ends on both their last values")
    func derived() throws {
        let (left, right) = (Observed(Pair(number: 0)), Observed(Pair(number: 0)))
        let sum = Observed((sum: 0, versions: UInt64(0)))
        let update: @Sendable (Change<Pair>) -> Void = { _ in
            let (a, b) = (left.snapshot(), right.snapshot())
            sum.modify { sum in
                let versions = a.version + b.version
                if versions >= sum.versions { sum = (a.value.number + b.value.number, versions) }
            }
        }
        let tokens = [left.observe(update), right.observe(update)]
        try onThreads(4) { thread in
            for round in 1...500 { (thread < 2 ? left : right).value = Pair(number: thread + round * 10) }
        }
        #expect(sum.value.versions == 2_000)
        #expect(sum.value.sum == left.value.number + right.value.number)
        withExtendedLifetime(tokens) {}
    }
}
