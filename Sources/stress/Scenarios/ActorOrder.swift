// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Scenario {
    /// Many writers; observers of every ordered delivery receive one chain, one change at a time,
    /// where they belong.
    static let actorOrder = Scenario(
        name: "actor-order",
        summary:
            "many writers: actors, queues and serial observers receive each version once, in order, where they belong",
        invariants: [
            "P1.ordered-once", "P1.counts-add-up", "P1.nothing-dropped", "P2.one-at-a-time", "P2.ordered",
            "P2.ordered-chain", "P2.isolated", "P3.last-value", "P3.path-converges", "P4.initial-first",
            "P1.flushed", "P1.flush-returns", "P16.large-mailboxes-are-reported",
            "P5.no-lock-around-user-code", "P11.actor-not-retained", "P12.end-last", "P12.end-delivered",
            "P13.actor-death-noticed",
            "P14.nothing-left", "P16.backlog-drains",
        ],
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

        let counts = cast.settle(round)
        cast.check(round, counts, property!, root!)
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

extension OrderedWitness {
    fileprivate func receive(_ change: Change<UInt64>, isThere: Bool = true) {
        check(isThere, "P2.isolated", "called elsewhere")
        receive(.init(change) { $0 })
    }

    /// Nowhere stands as 0.
    fileprivate func receive(_ change: Change<UInt64?>, isThere: Bool = true) {
        check(isThere, "P2.isolated", "called elsewhere")
        receive(.init(change) { $0 ?? 0 })
    }
}

extension Stage {
    /// Observes in the actor's code, with a closure that does not mention it.
    fileprivate nonisolated func follow(
        _ property: Observed<UInt64>,
        _ options: ObservationOptions,
        _ witness: OrderedWitness
    ) -> ObservationToken {
        let (token, done) = (Guarded<ObservationToken?>(nil), DispatchSemaphore(value: 0))
        Task.detached {
            let made = await self.followHere(property, options, witness)
            token.withLock { $0 = made }
            done.signal()
        }
        done.wait()
        return token.withLock { $0.take() }!
    }

    private func followHere(
        _ property: Observed<UInt64>,
        _ options: ObservationOptions,
        _ witness: OrderedWitness
    ) -> ObservationToken {
        property.observeIsolated(options: options) { [executor] change in
            witness.receive(change, isThere: executor.isCurrent)
        }
    }
}

/// The observers, what each has received, and the actors that some are isolated to.
private final class Cast: Sendable {
    private struct Member: Sendable {
        let witness: OrderedWitness
        let token: ObservationToken
        let isOnPath: Bool
        let isOnMortalActor: Bool

        /// The counts of what was sent. There is a counter, since the delivery is not inline.
        var counts: DeliveryCounts { token.deliveryCounts! }
    }

    private let members: [Member]
    /// Signalled when more changes wait for an actor than it takes at a time.
    private let backlog: DispatchSemaphore
    private let actors: Guarded<[any Actor]>
    private let watched: [WeakActor]

    private final class WeakActor: Sendable {
        weak let actor: (any Actor)?
        init(_ actor: any Actor) { self.actor = actor }
    }

    init(_ round: Round, _ property: Observed<UInt64>, _ root: PathRoot) {
        let (stage, listener, serializer) = (Stage(), Listener(), ObservationActor())
        let backlog = DispatchSemaphore(value: 0)
        self.backlog = backlog
        let actors: [any Actor] = [stage, listener, serializer]
        self.actors = Guarded(actors)
        watched = actors.map(WeakActor.init)

        let options: ObservationOptions = .initial
        var members: [Member] = []
        func add(
            _ name: String,
            isOnPath: Bool,
            _ isOnMortalActor: Bool,
            _ observe: (OrderedWitness) -> ObservationToken
        ) {
            let witness = OrderedWitness(name, round, beginsWithInitial: true)
            let token = observe(witness)
            witness.listen(to: token)
            members.append(Member(witness: witness, token: token, isOnPath: isOnPath, isOnMortalActor: isOnMortalActor))
        }
        func add(_ name: String, onMortalActor: Bool = false, _ observe: (OrderedWitness) -> ObservationToken) {
            add(name, isOnPath: false, onMortalActor, observe)
        }
        func addPath(_ name: String, onMortalActor: Bool = false, _ observe: (OrderedWitness) -> ObservationToken) {
            add(name, isOnPath: true, onMortalActor, observe)
        }

        add("an actor with its own executor", onMortalActor: true) { witness in
            property.observe(on: stage, options: options) { stage, change in
                // Blocked to begin with, so that more waits than it takes at a time.
                if change.version == 1 { backlog.wait() }
                witness.receive(change, isThere: stage.isCurrent)
            }
        }
        add("an actor", onMortalActor: true) { witness in
            property.observe(on: listener, options: options) { listener, change in
                listener.preconditionIsolated()
                witness.receive(change)
            }
        }
        add("the serialising actor", onMortalActor: true) { witness in
            property.observe(options: options, delivery: .actor(serializer)) { [weak serializer] change in
                serializer?.preconditionIsolated()
                witness.receive(change)
            }
        }
        add("a closure that is isolated") { witness in
            property.observeIsolated(options: options) { @GlobalListener change in
                GlobalListener.shared.preconditionIsolated()
                witness.receive(change)
            }
        }
        add("a closure in an actor's code", onMortalActor: true) { witness in
            stage.follow(property, options, witness)
        }
        add("a serial observer") { witness in
            property.observe(options: options, delivery: .serial()) { change in
                if change.reason == .valueChanged, Worker.current == nil { Cast.noteLibraryThread() }
                witness.receive(change)
            }
        }
        add("a queue") { witness in
            let queue = DispatchQueue(label: "stress.ordered")
            return property.observe(options: options, delivery: .queue(queue)) { change in
                dispatchPrecondition(condition: .onQueue(queue))
                witness.receive(change)
            }
        }
        add("a concurrent queue") { witness in
            property.observe(options: options, delivery: .queue(.global())) { change in witness.receive(change) }
        }
        addPath("an actor on a path", onMortalActor: true) { witness in
            root.property(\.middle.end.number).observe(on: stage, options: options) { stage, change in
                witness.receive(change, isThere: stage.isCurrent)
            }
        }
        addPath("a serial observer on a path") { witness in
            root.observe(\.middle.end.number, options: options, delivery: .serial()) { change in
                witness.receive(change)
            }
        }
        addPath("a queue on a path") { witness in
            root.observe(\.middle.end.number, options: options, delivery: .queue(.global())) { change in
                witness.receive(change)
            }
        }
        self.members = members
    }

    private static let callsFromLibrary = Guarded(0)

    private static func noteLibraryThread() { callsFromLibrary.withLock { $0 += 1 } }

    /// How far behind the observers are.
    private func look(_ worker: Worker) -> UInt64 {
        // More may be reported than there is: the counts are read one after the other.
        let pending = members.map(\.counts.pending).max() ?? 0
        if pending > 1 { worker.hit(0) }
        if pending > 256 { worker.hit(1) }
        return pending
    }

    /// Makes changes while one actor is blocked in its first one, and lets it go on.
    func fillMailboxes(_ worker: Worker, _ property: Observed<UInt64>) {
        worker.begin("fill the mailboxes")
        // On a busy machine each change takes long, and others wait for the actor to go on.
        repeat {
            for _ in 0..<32 { property.value = worker.uniqueSerial() }
        } while look(worker) <= 256 && !worker.round.isOver
        backlog.signal()
    }

    /// Now and then waits for the observers, so that memory does not grow without end.
    func keepPace(_ worker: Worker) {
        guard worker.generator.oneIn(16) else { return }
        worker.begin("wait for the observers")
        while !worker.round.isOver, look(worker) > 2_000 { usleep(100) }
    }

    /// Now and then waits for what one observer has still to receive: afterwards its callbacks have
    /// returned. (P1)
    func flush(_ worker: Worker, _ property: Observed<UInt64>) {
        guard worker.generator.oneIn(64) else { return }
        worker.begin("flush")
        let direct = members.filter { !$0.isOnPath }
        let member = direct[worker.generator.below(direct.count)]
        let done = DispatchSemaphore(value: 0)
        // The change that follows is a later one, and its setter has returned before the flush.
        let version = property.version + 1
        property.value = worker.uniqueSerial()
        let task = Task.detached {
            await member.token.flush()
            done.signal()
        }
        let hasReturned = done.waitOrTimeOut()
        worker.check(hasReturned, "P1.flush-returns", "a flush has waited for ten seconds")
        guard hasReturned else { return task.cancel() }
        // The initial value, and each version.
        worker.check(
            member.witness.count > version,
            "P1.flushed",
            "received \(member.witness.count) changes to the end, \(version + 1) were committed before"
        )
    }

    func settle(_ round: Round) -> [DeliveryCounts] {
        // Again: the first thread may not have run at all.
        backlog.signal()
        let counts = members.map { member in
            round.violations.isEmpty ? member.witness.settle(round) { member.counts } : member.counts
        }
        if Self.callsFromLibrary.withLock({ $0 }) > 0 { round.workers[0].hit(2) }
        return counts
    }

    func check(_ round: Round, _ counts: [DeliveryCounts], _ property: Observed<UInt64>, _ root: PathRoot) {
        guard round.violations.isEmpty else { return }
        let (value, version) = property.snapshot()
        for (member, counts) in zip(members, counts) {
            round.check(counts.dropped == 0, "P1.nothing-dropped", "\(counts.dropped) of \(counts.sent) were dropped")
            let last = member.witness.last?.new ?? 0
            if member.isOnPath {
                round.check(
                    last == root.present,
                    "P3.path-converges",
                    "the last word was \(last), the path leads to \(root.present)"
                )
                continue
            }
            round.check(
                counts.sent == version + 1,
                "P1.ordered-once",
                "\(counts.sent) changes were sent with the initial one, the version is \(version)"
            )
            round.check(last == value, "P3.last-value", "the last change brought \(last), the property has \(value)")
        }
    }

    /// Nothing else retains the actors: they go, and the next change ends their observations. (P11,
    /// P13)
    func checkDeathOfActors(_ round: Round, _ property: Observed<UInt64>) {
        guard round.violations.isEmpty else { return }
        actors.withLock { $0.removeAll() }
        let areGone = waitWhileMoving { watched.allSatisfy { $0.actor == nil } }
        round.check(areGone, "P11.actor-not-retained", "an actor is alive when only its observations are left")
        guard areGone else { return }
        property.value &+= 1
        let mortal = members.filter { $0.isOnMortalActor && !$0.isOnPath }
        let haveEnded = waitWhileMoving { mortal.allSatisfy { !$0.token.isActive && $0.counts.pending == 0 } }
        round.check(haveEnded, "P13.actor-death-noticed", "an observation goes on whose actor is gone")
    }

    /// The sources are gone: every observer that still listens has received the end, last.
    func checkEnd(_ round: Round) {
        guard round.violations.isEmpty else { return }
        for member in members {
            let isMortal = member.isOnMortalActor
            let hasEnded = waitWhileMoving {
                !member.token.isActive && (isMortal || member.witness.hasReceivedEnd) && member.counts.pending == 0
            }
            round.check(hasEnded, "P12.end-delivered", "an observer has not received its source's end")
            member.token.cancel()
        }
    }
}

/// A mailbox that is not emptied is reported, with the label of its observation. (P16)
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
