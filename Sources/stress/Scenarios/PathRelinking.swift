// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// All threads change what a path leads to, at every step; what its observers receive must be
    /// one chain that ends where the path does.
    static let pathRelinking = Scenario(
        name: "path-relinking",
        summary:
            "every step of a path is replaced while its end changes: one chain, and the last change is the present value",
        invariants: [
            "P2.path-versions", "P2.path-chain", "P3.path-converges", "P1.every-change-once",
            "P1.received-from-a-callback",
            "P2.in-order-on-one-thread",
            "P4.initial-once",
            "P5.no-lock-around-user-code", "P5.relinked-before-a-deinit", "P11.not-retained", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: [
            "led to nowhere", "an earlier step was replaced", "an end was changed that the path had left",
            "replacements kept coming while the path was relinked",
        ],
        leastThreads: 3
    ) { round in
        let ends = (1...4).map { PathEnd(UInt64($0)) }
        let root = PathRoot(ends[0])
        let path = PathWitness(root, workers: round.threads, options: .initial)
        let bare = PathWitness(root, workers: round.threads, options: [])

        round.load { worker in
            let end = ends[worker.generator.below(ends.count)]
            switch worker.generator.below(16) {
            case 0:
                worker.begin("replace the first step")
                root.middle.value = PathMiddle(end)
                worker.hit(1)
            case 1, 2:
                worker.begin("replace the second step")
                root.middle.value.end.value = end
            case 3:
                worker.begin("lead to nowhere")
                root.middle.value.end.value = nil
                worker.hit(0)
            case 4:
                worker.begin("commit a step and its end")
                let link = root.middle.value.end
                Group(link, end.number).commit { transaction in
                    transaction[link] = end
                    transaction[end.number] = worker.uniqueSerial()
                }
            default:
                worker.begin("change an end")
                if root.middle.value.end.value !== end { worker.hit(2) }
                end.number.value = worker.uniqueSerial()
            }
        }

        round.drain()
        path.check(round, present: root.present)
        bare.checkCount(round)
        path.end()
        bare.end()
        checkChangesInCallbacks(round)
        checkPathThatPassesItsEnd(round)
        checkDeathInRelinking(round)
        if checkReplacementsInRelinking(round) { round.workers[0].hit(3) }
        round.checkRest()
        weak let watched = root
        _ = consume root
        round.check(watched == nil, "P11.not-retained", "the path keeps its root alive")
    }
}

/// When an observer of one path receives a replacement, all other paths are relinked already: their
/// observers receive the replacement, and the change that this observer makes in the new property.
private func checkChangesInCallbacks(_ round: Round) {
    let root = PathRoot(PathEnd(1))
    let received = (0..<2).map { _ in Guarded<[UInt64]>([]) }
    let tokens = received.map { received in
        root.observe(\.middle.end.number) { change in
            guard let new = change.new else { return }
            let isFirst = received.withLock { received in
                received.append(new)
                return received.count == 1
            }
            if isFirst { root.middle.value.end.value?.number.value = new + 1 }
        }
    }
    root.middle.value = PathMiddle(PathEnd(10))
    for (index, received) in received.enumerated() {
        let received = received.withLock { $0 }
        round.check(
            received.sorted() == [10, 11, 12],
            "P1.received-from-a-callback",
            "path \(index) received \(received) of a replacement and two changes that its callbacks made"
        )
    }
    for token in tokens { token.cancelAndWaitBlocking() }
}

/// A path that passes the property at which it ends: its observer receives a change of that
/// property first as one of the end, then as a replacement.
private func checkPathThatPassesItsEnd(_ round: Round) {
    let node = PathNode()
    node.next.value = node
    let received = Guarded<[UInt64]>([])
    let token = node.observe(\.next.next) { change in received.withLock { $0.append(change.version) } }
    node.next.value = PathNode()
    let versions = received.withLock { $0 }
    round.check(
        versions == [1, 2],
        "P2.in-order-on-one-thread",
        "a path that passes its own end received the versions \(versions)"
    )
    token.cancelAndWaitBlocking()
}

private final class PathNode: ConcurrentObservable {
    let next = Observed<PathNode?>(nil)
}

/// The thread that relinks a path does not relink for ever: the library goes on, and delivers the
/// last change.
///
/// - Returns: Whether it came to that.
private func checkReplacementsInRelinking(_ round: Round) -> Bool {
    guard round.violations.isEmpty else { return false }
    let root = RestlessRoot()
    let caller = pthread_self()
    let (last, others) = (Guarded<UInt64>(0), Guarded(0))
    let token = root.observe(\.end.number) { change in
        // Versions grow, on whatever thread.
        last.withLock { last in last = max(last, change.new) }
        if pthread_equal(pthread_self(), caller) == 0 { others.withLock { $0 += 1 } }
    }
    root.replace(times: 100)
    round.drain()
    let delivered = last.withLock { $0 }
    round.check(delivered == 100, "P3.path-converges", "the last change was \(delivered), 100 replacements were made")
    token.cancelAndWaitBlocking()
    return others.withLock { $0 } > 0
}

/// A root whose end replaces itself while a path is linked to it, a hundred times over.
private final class RestlessRoot: ConcurrentObservable {
    let end = Observed(RestlessEnd(0, nil))

    func replace(times: UInt64) { end.value = RestlessEnd(1, times > 1 ? (self, times) : nil) }
}

private final class RestlessEnd: ConcurrentObservable {
    let number: Observed<UInt64>
    private let next: Guarded<(root: RestlessRoot, last: UInt64)?>

    init(_ number: UInt64, _ next: (root: RestlessRoot, last: UInt64)?) {
        self.number = Observed(number)
        self.next = Guarded(next)
    }

    /// Called whenever a path is linked.
    var observedProperties: RestlessEnd {
        if let (root, last) = next.withLock({ $0.take() }) {
            let number = number.value + 1
            root.end.value = RestlessEnd(number, number < last ? (root, last) : nil)
        }
        return self
    }
}

/// An observer of a path, and what it has received, thread by thread.
private final class PathWitness: Sendable {
    private let logs: [Guarded<Log>]
    private let token: ObservationToken

    private struct Log {
        var chain: [(version: UInt64, old: UInt64, new: UInt64)] = []
        var initials: [UInt64] = []
    }

    init(_ root: PathRoot, workers: Int, options: ObservationOptions) {
        // The last log belongs to the round's own thread, which receives the initial value, and to
        // the library's threads.
        let logs = (0...workers).map { _ in Guarded(Log()) }
        self.logs = logs
        token = root.observe(\.middle.end.number, options: options) { change in
            checkUserCode("callback")
            let log = logs[Worker.current?.index ?? workers]
            // Nil is nowhere, and stands as 0.
            let (old, new) = ((change.old ?? nil) ?? 0, change.new ?? 0)
            switch change.reason {
            case .initial: log.withLock { $0.initials.append(new) }
            default: log.withLock { $0.chain.append((change.version, old, new)) }
            }
        }
    }

    private var chain: [(version: UInt64, old: UInt64, new: UInt64)] { logs.flatMap { $0.withLock(\.chain) } }

    /// At rest: each version once. Another path may fold other changes that race, so that the
    /// versions of two differ.
    func checkCount(_ round: Round) {
        let chain = chain
        let (count, sum) = (UInt64(chain.count), chain.reduce(0) { $0 &+ $1.version })
        round.check(
            sum == count * (count + 1) / 2,
            "P1.every-change-once",
            "received \(count) changes, sum of versions \(sum)"
        )
    }

    /// At rest: versions 1, 2, 3, … each once, each beginning where the one before has ended, the
    /// last with the present value.
    func check(_ round: Round, present: UInt64) {
        guard round.violations.isEmpty else { return }
        let initials = logs.flatMap { $0.withLock(\.initials) }
        round.check(initials == [1], "P4.initial-once", "received the initial values \(initials)")
        var value = initials.first ?? 0
        for (index, change) in chain.sorted(by: { $0.version < $1.version }).enumerated() {
            round.check(
                change.version == UInt64(index) + 1,
                "P2.path-versions",
                "change \(index + 1) has version \(change.version)"
            )
            round.check(
                change.old == value,
                "P2.path-chain",
                "version \(change.version) replaced \(change.old), but \(value) was there"
            )
            guard round.violations.isEmpty else { return }
            value = change.new
        }
        round.check(value == present, "P3.path-converges", "the last change was \(value), the path leads to \(present)")
    }

    func end() { token.cancelAndWaitBlocking() }
}
