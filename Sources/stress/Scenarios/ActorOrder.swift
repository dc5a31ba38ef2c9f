// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Scenario {
    /// Many threads write. The observers of each ordered delivery receive one chain of changes, one
    /// at a time, in the right place.
    static let actorOrder = Scenario(
        name: "actor-order",
        summary:
            "many writers: actors, queues and serial observers receive each version once, in order, where they belong",
        invariants: [
            "P1.nothing-dropped", "P2.isolated", "P3.last-value", "P3.path-converges", "P1.flushed", "P1.flush-returns",
            "P16.large-mailboxes-are-reported", "P5.no-lock-around-user-code", "P11.actor-not-retained",
            "P12.end-delivered", "P13.actor-death-noticed",
        ] + checkedByWitnesses + checkedAtRest,
        windows: [
            "an actor was behind", "more waited than an actor takes at a time", "the library went on for the writers",
            "the path led elsewhere",
        ],
        leastThreads: 8
    ) { round in
        var property: Observed<UInt64>? = Observed(0)
        let ends = (1...4).map { PathEnd(UInt64($0)) }
        var root: PathRoot? = PathRoot(ends[0])
        let cast = Cast(round, property!, root!)

        let load = { [property = property!, root = root!] in
            round.load { worker in
                if worker.index == 0, worker.operations == 0 {
                    cast.fillMailboxes(worker, property)
                } else if worker.generator.oneIn(4) {
                    worker.relink(root, ends)
                } else {
                    worker.change(property)
                }
                cast.keepPace(worker)
                cast.flush(worker, property)
            }
        }
        load()

        cast.checkRest(round, property!, root!)
        checkLargeMailboxes(round)
        cast.checkDeathOfActors(round, property!)
        property = nil
        root = nil
        cast.checkEnd(round)
        round.checkRest()
    }
}

extension Worker {
    fileprivate func change(_ property: Observed<UInt64>) {
        if generator.oneIn(256) {
            begin("burst")
            for _ in 0..<1_000 where !round.isOver { property.value = uniqueSerial() }
        }
        let number = uniqueSerial()
        switch generator.below(8) {
        case 0..<4:
            begin("set")
            property.value = number
        case 4:
            begin("exchange")
            property.exchange(number)
        case 5, 6:
            begin("modify")
            property.modify { $0 = number }
        default:
            begin("compareExchange")
            property.compareExchange(expected: property.value, desired: number)
        }
    }

    fileprivate func relink(_ root: PathRoot, _ ends: [PathEnd]) {
        let end = ends[generator.below(ends.count)]
        switch generator.below(16) {
        case 0:
            begin("replace the first step")
            root.middle.value = PathMiddle(end)
            hit(3)
        case 1, 2:
            begin("replace the second step")
            root.middle.value.end.value = end
            hit(3)
        case 3:
            begin("lead to nowhere")
            root.middle.value.end.value = nil
        default:
            begin("change an end")
            end.number.value = uniqueSerial()
        }
    }
}

/// The observers with their witnesses, and the actors to which some of them are isolated.
private final class Cast: Sendable {
    private struct Member: Sendable {
        let follower: Follower
        let isOnPath: Bool
        /// Whether the actor of the observer dies before the source.
        let isMortal: Bool
    }

    private let members: [Member]
    /// Signalled when more changes wait for an actor than it takes at a time.
    private let backlog = DispatchSemaphore(value: 0)
    private let actors: Guarded<[any Actor]>
    private let watched: [WeakActor]
    private static let callsFromLibrary = Tally()

    private final class WeakActor: Sendable {
        weak let actor: (any Actor)?
        init(_ actor: any Actor) { self.actor = actor }
    }

    init(_ round: Round, _ property: Observed<UInt64>, _ root: PathRoot) {
        let (stage, listener, serializer) = (Stage(), Listener(), ObservationActor())
        actors = Guarded([stage, listener, serializer])
        watched = actors.withLock { $0.map(WeakActor.init) }

        var members: [Member] = []
        func add(
            _ name: String,
            _ delivery: OrderedDelivery,
            isMortal: Bool = false,
            _ body: @escaping @Sendable (Change<UInt64>, OrderedWitness) -> Void = { _, _ in }
        ) {
            let follower = delivery.follow(property, name, round, options: .initial, body)
            members.append(Member(follower: follower, isOnPath: false, isMortal: isMortal))
        }
        func addOnPath(_ name: String, _ delivery: OrderedDelivery, isMortal: Bool = false) {
            let path = root.property(\.middle.end.number)
            let follower = delivery.follow(path, "\(name) on a path", round, options: .initial)
            members.append(Member(follower: follower, isOnPath: true, isMortal: isMortal))
        }

        add("an actor with its own executor", .stage(stage), isMortal: true) { [backlog] change, _ in
            // The first change blocks the actor, so that more changes wait than it takes at a time.
            if change.version == 1 { backlog.wait() }
        }
        add("an actor", .actor(listener), isMortal: true)
        add("the serialising actor", .observationActor(serializer), isMortal: true)
        add("a closure that is isolated", .isolated)
        add("a closure in an actor's code", .codeOf(stage), isMortal: true)
        add("a serial observer", .serial) { change, _ in
            if change.reason == .valueChanged, Worker.current == nil { Cast.callsFromLibrary.increment() }
        }
        add("a queue", .queue(DispatchQueue(label: "stress.ordered")))
        add("a concurrent queue", .globalQueue)
        addOnPath("an actor", .stage(stage), isMortal: true)
        addOnPath("a serial observer", .serial)
        addOnPath("a queue", .globalQueue)
        self.members = members
    }

    /// Returns the number of changes that the slowest observer has not received, and notes it for
    /// the windows.
    private func look(_ worker: Worker) -> UInt64 {
        // The number may be too high, because the counts are read one after the other.
        let pending = members.map(\.follower.counts.pending).max() ?? 0
        if pending > 1 { worker.hit(0) }
        if pending > 256 { worker.hit(1) }
        return pending
    }

    /// Makes changes while one actor is blocked in its first change. Then lets the actor go on.
    func fillMailboxes(_ worker: Worker, _ property: Observed<UInt64>) {
        worker.begin("fill the mailboxes")
        // On a busy machine each change takes long, and other threads wait for the actor.
        repeat {
            for _ in 0..<32 { property.value = worker.uniqueSerial() }
        } while look(worker) <= 256 && !worker.round.isOver
        backlog.signal()
    }

    /// Sometimes waits for the observers, so that memory does not grow without end.
    func keepPace(_ worker: Worker) {
        guard worker.generator.oneIn(16) else { return }
        worker.begin("wait for the observers")
        while !worker.round.isOver, look(worker) > 2_000 { usleep(100) }
    }

    /// Sometimes flushes one observer. Checks that afterwards its callbacks for all earlier changes
    /// have returned. (P1)
    func flush(_ worker: Worker, _ property: Observed<UInt64>) {
        guard worker.generator.oneIn(64) else { return }
        worker.begin("flush")
        let direct = members.filter { !$0.isOnPath }
        let follower = direct[worker.generator.below(direct.count)].follower
        // The next change has a later version, and its setter has returned before the flush.
        let version = property.version + 1
        property.value = worker.uniqueSerial()
        let flush = AwaitedTask { await follower.token.flush() }
        let hasReturned = flush.resultInTime() != nil
        worker.check(hasReturned, "P1.flush-returns", "a flush has waited for ten seconds")
        guard hasReturned else { return flush.task.cancel() }
        // The initial value and each version are received.
        let count = follower.witness.count
        worker.check(count > version, "P1.flushed", "received \(count) changes of the \(version + 1) before the flush")
    }

    func checkRest(_ round: Round, _ property: Observed<UInt64>, _ root: PathRoot) {
        // Signals again, because the first thread may not have run at all.
        backlog.signal()
        let (value, version) = property.snapshot()
        for member in members where round.violations.isEmpty {
            let counts = member.follower.settle(round)
            round.check(counts.dropped == 0, "P1.nothing-dropped", "\(counts.dropped) of \(counts.sent) were dropped")
            let last = member.follower.witness.last?.new ?? 0
            if member.isOnPath {
                let now = root.present
                round.check(last == now, "P3.path-converges", "the last word was \(last), the path leads to \(now)")
                continue
            }
            round.check(counts.sent == version + 1, "P1.ordered-once", "\(counts), the version is \(version)")
            round.check(last == value, "P3.last-value", "the last change brought \(last), the property has \(value)")
        }
        if Self.callsFromLibrary.value > 0 { round.workers[0].hit(2) }
    }

    /// Releases the actors, which nothing else retains. Checks that they die, and that the next
    /// change ends their observations. (P11, P13)
    func checkDeathOfActors(_ round: Round, _ property: Observed<UInt64>) {
        guard round.violations.isEmpty else { return }
        actors.withLock { $0.removeAll() }
        let areGone = round.wait(
            for: "P11.actor-not-retained",
            "an actor is alive when only its observations are left"
        ) { watched.allSatisfy { $0.actor == nil } }
        guard areGone else { return }
        property.value &+= 1
        let mortal = members.filter { $0.isMortal && !$0.isOnPath }.map(\.follower)
        round.wait(for: "P13.actor-death-noticed", "an observation goes on whose actor is gone") {
            mortal.allSatisfy { !$0.token.isActive && $0.counts.pending == 0 }
        }
    }

    /// Checks, when the sources are gone, that every observer that still listens has received the
    /// end as its last event.
    func checkEnd(_ round: Round) {
        guard round.violations.isEmpty else { return }
        for member in members { member.follower.checkEnd(round, isMortal: member.isMortal) }
    }
}

/// Checks that a mailbox that is not emptied is reported with the label of its observation. (P16)
private func checkLargeMailboxes(_ round: Round) {
    guard round.violations.isEmpty else { return }
    let queue = DispatchQueue(label: "stress.held")
    queue.suspend()
    let property = Observed<UInt64>(0, label: "held")
    let token = property.observe(delivery: .queue(queue)) { _ in }
    for number in 1...3_000 as ClosedRange<UInt64> { property.value = number }
    let found = ConcurrentObserveDiagnostics.largestMailboxes(1_000).filter { $0.label == "held" }
    let peak = ConcurrentObserveDiagnostics.current().peakPendingEvents
    round.check(
        found.count == 1 && found[0].counts?.pending == 3_000 && peak >= 3_000,
        "P16.large-mailboxes-are-reported",
        "3,000 events wait, the diagnostics have \(found.map(\.counts)) and a peak of \(peak)"
    )
    token.cancel()
    queue.resume()
}
