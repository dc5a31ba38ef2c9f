// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// All threads change the objects on a path, at every step. The changes that its observers
    /// receive must be one chain, and the last one must have the value to which the path leads.
    static let pathRelinking = Scenario(
        name: "path-relinking",
        summary:
            "every step of a path is replaced while its end changes: one chain, and the last change is the present value",
        invariants: [
            "P2.path-versions", "P2.path-chain", "P3.path-converges", "P1.every-change-once",
            "P1.received-from-a-callback", "P2.in-order-on-one-thread", "P4.initial-once",
            "P5.no-lock-around-user-code", "P5.relinked-before-a-deinit", "P11.not-retained",
        ] + checkedAtRest,
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

/// Checks that all other paths are relinked already when an observer of one path receives a
/// replacement. Their observers receive the replacement, and the change that this observer makes in
/// the new property.
private func checkChangesInCallbacks(_ round: Round) {
    let root = PathRoot(PathEnd(1))
    let received = (0..<2).map { _ in Record<UInt64>() }
    let tokens = received.map { received in
        root.observe(\.middle.end.number) { change in
            guard let new = change.new, received.note(new) == 1 else { return }
            root.middle.value.end.value?.number.value = new + 1
        }
    }
    root.middle.value = PathMiddle(PathEnd(10))
    for received in received {
        // The replacement, and two changes that the callbacks have made.
        round.check("what a path received", received.all.sorted(), is: [10, 11, 12], "P1.received-from-a-callback")
    }
    for token in tokens { token.cancelAndWaitBlocking() }
}

/// Checks a path that also leads through the property at which it ends. Its observer receives a
/// change of that property first as a change of the end, and then as a replacement.
private func checkPathThatPassesItsEnd(_ round: Round) {
    let node = PathNode()
    node.next.value = node
    let versions = Record<UInt64>()
    let token = node.observe(\.next.next) { change in versions.note(change.version) }
    node.next.value = PathNode()
    round.check("the list of versions received", versions.all, is: [1, 2], "P2.in-order-on-one-thread")
    token.cancelAndWaitBlocking()
}

private final class PathNode: ConcurrentObservable {
    let next = Observed<PathNode?>(nil)
}

/// Checks that a thread that relinks a path does not do so forever: the library continues the work,
/// and delivers the last change.
///
/// - Returns: Whether the thread had to stop relinking.
private func checkReplacementsInRelinking(_ round: Round) -> Bool {
    guard round.violations.isEmpty else { return false }
    let root = RestlessRoot()
    let caller = pthread_self()
    let (versions, others) = (Record<UInt64>(), Tally())
    let token = root.observe(\.end.number) { change in
        // Versions grow, on any thread.
        versions.note(change.new)
        if pthread_equal(pthread_self(), caller) == 0 { others.increment() }
    }
    root.replace(times: 100)
    round.drain()
    round.check("the last of 100 replacements", versions.all.max(), is: 100, "P3.path-converges")
    token.cancelAndWaitBlocking()
    return others.value > 0
}

/// A root whose end replaces itself a hundred times while a path is linked to it.
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

/// An observer of a path, and the changes that it has received, by thread.
private final class PathWitness: Sendable {
    private let logs: [Guarded<Log>]
    private let token: ObservationToken

    private struct Log {
        var chain: [ChainLink] = []
        var initials: [UInt64] = []
    }

    init(_ root: PathRoot, workers: Int, options: ObservationOptions) {
        // The last log is for the round's own thread, which receives the initial value, and for the
        // library's threads.
        let logs = (0...workers).map { _ in Guarded(Log()) }
        self.logs = logs
        token = root.observe(\.middle.end.number, options: options) { change in
            checkUserCode("callback")
            let log = logs[Worker.current?.index ?? workers]
            // Nil means that the path leads nowhere. Its number is 0.
            let (old, new) = ((change.old ?? nil) ?? 0, change.new ?? 0)
            switch change.reason {
            case .initial: log.withLock { $0.initials.append(new) }
            default: log.withLock { $0.chain.append((change.version, old, new)) }
            }
        }
    }

    private var chain: [ChainLink] { logs.flatMap { $0.withLock(\.chain) } }

    /// Checks at rest that each version was received once. Two paths may combine changes that race
    /// in different ways, so their versions may differ.
    func checkCount(_ round: Round) {
        let chain = chain
        let (count, sum) = (UInt64(chain.count), chain.reduce(0) { $0 &+ $1.version })
        round.check("the sum of \(count) versions", sum, is: count * (count + 1) / 2, "P1.every-change-once")
    }

    /// Checks at rest that the changes are one chain from the initial value to the present one.
    func check(_ round: Round, present: UInt64) {
        guard round.violations.isEmpty else { return }
        let initials = logs.flatMap { $0.withLock(\.initials) }
        round.check("the list of initial values", initials, is: [1], "P4.initial-once")
        let (versions, old, last) = ("P2.path-versions", "P2.path-chain", "P3.path-converges")
        round.check(chain, from: initials.first ?? 0, to: present, versions: versions, old: old, last: last)
    }

    func end() { token.cancelAndWaitBlocking() }
}
