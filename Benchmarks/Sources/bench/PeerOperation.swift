// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Judging

/// An operation that the library and the programs in `Peers` measure by the same rules.
struct PeerOperation {
    /// The name of the operation in the programs.
    let name: String
    let threads: Int
    /// The number of observers, if the operation has some.
    let live: Int
    /// The title of the operation in the table.
    let title: String
    /// Chooses the figure from the rounds.
    var summary = Summary.median
    /// Makes new objects, and returns one body for each thread.
    private let bodies: @Sendable () -> [@Sendable (_ times: Int) -> Void]

    static let all =
        [0, 1, 10, 100].map(notify) + [0, 1, 10, 100].map(notifyOnTwoThreads) + [threeKinds]
        + [0, 100, 10_000].map(connect) + sets + reads(1, "") + reads(2, ", two threads")
        + transactions(1, "") + transactions(2, ", two threads")

    /// Measures one round of ours.
    func measure(_ times: Int) -> [ThreadRun] {
        // The exclusive or of all numbers may be 0.
        Counter.watched(title, areCalled: false, prepare: bodies, measure: { runTogether(times, $0) })
    }

    /// Returns the request with which a program measures one round.
    func request(_ times: Int) -> String { "\(name) \(threads) \(live) \(times)" }

    // MARK: Ours

    private static func notify(_ count: Int) -> PeerOperation {
        PeerOperation(name: "notify", threads: 1, live: count, title: "notify \(count)", summary: .best) {
            let observed = ObservedCounters(count)
            return [{ observed.notify($0) }]
        }
    }

    private static func notifyOnTwoThreads(_ count: Int) -> PeerOperation {
        PeerOperation(name: "notify", threads: 2, live: count, title: "notify \(count), two threads") {
            let registry = TallyingRegistry(count)
            return [registry.notify, registry.notify]
        }
    }

    /// If the compiler has seen only one kind of observer, it can inline it. A service has several
    /// kinds.
    private static let threeKinds = PeerOperation(
        name: "notify-3-kinds",
        threads: 1,
        live: 100,
        title: "notify 100 of three kinds",
        summary: .best
    ) {
        let observed = ObservedCounters(ofThreeKinds: 100)
        return [{ observed.notify($0) }]
    }

    private static func connect(_ count: Int) -> PeerOperation {
        PeerOperation(name: "connect", threads: 1, live: count, title: "observe and cancel, \(count) live") {
            let observed = ObservedCounters(count)
            let counter = Counter()
            return [
                { times in
                    for _ in 0..<times { observed.registry.observe { event in counter.value &+= event }.cancel() }
                }
            ]
        }
    }

    private static let strings = (PropertyReadSuite.heapString, PropertyReadSuite.heapString + ".")

    private static let sets = [
        PeerOperation(name: "set-int", threads: 1, live: 0, title: "set an integer") {
            let property = Observed(0)
            return [{ setInLoop(property, $0) }]
        },
        PeerOperation(name: "set-string", threads: 1, live: 0, title: "set a string") {
            let property = Observed(strings.0)
            return [{ setInTurn(property, strings, $0) }]
        },
    ]

    private static func reads(_ threads: Int, _ situation: String) -> [PeerOperation] {
        [
            PeerOperation(name: "read-int", threads: threads, live: 0, title: "read an integer" + situation) {
                let property = Observed(1)
                return (0..<threads).map { _ in { readInLoop(property, $0) } }
            },
            PeerOperation(name: "read-string", threads: threads, live: 0, title: "read a string" + situation) {
                let property = Observed(strings.0)
                return (0..<threads).map { _ in { readInLoop(property, $0) } }
            },
            PeerOperation(name: "lend-string", threads: threads, live: 0, title: "lend a string" + situation) {
                let property = Observed(strings.0)
                return (0..<threads).map { _ in { lendInLoop(property, $0) } }
            },
        ]
    }

    private static func transactions(_ threads: Int, _ situation: String) -> [PeerOperation] {
        [
            PeerOperation(name: "transfer", threads: threads, live: 0, title: "move between two" + situation) {
                let (from, to) = (Observed(1000), Observed(1000))
                let group = Group(from, to)
                return (0..<threads).map { _ in { transferInLoop(group, from, to, $0) } }
            },
            PeerOperation(name: "snapshot", threads: threads, live: 0, title: "read two together" + situation) {
                let group = Group(Observed(1000), Observed(1000))
                return (0..<threads).map { _ in { snapshotInLoop(group, $0) } }
            },
        ]
    }
}
