// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

extension Scenario {
    /// Observations with each kind of ordered delivery end in all possible ways while changes wait
    /// in their mailboxes.
    static let deliveryCancellation = Scenario(
        name: "delivery-cancellation",
        summary: "ordered deliveries end in every way while changes wait: silence, and everything destroyed once",
        invariants: [
            "P1.counts-add-up", "P1.received-if-called", "P8.counted-until-the-end", "P8.ends-with-its-owners",
            "P8.members-count-once", "P8.silent-after-cancel", "P8.silent-after-comparison",
            "P8.silent-on-its-own-queue", "P9.async-outcome", "P13.actor-death-noticed", "P14.not-while-read",
            "P14.destroyed-once", "P14.value-destroyed",
        ] + checkedInCallbacks + checkedByWaits + checkedAtRest,
        windows: [
            "waited for with changes left", "awaited with changes left", "cancelled with changes left",
            "dropped its iterator with changes left", "ended itself with changes left",
            "an actor died with changes left",
        ],
        leastThreads: 4
    ) { round in
        let values = Guarded<[ProbeReference]>([])
        endObservations(round, values)
        if checkDeathOfActors(round) { round.workers[0].hit(5) }
        checkValues(round, values)
        round.checkRest()
    }
}

/// A function of its own, so that the sources are gone when it returns.
private func endObservations(_ round: Round, _ values: Guarded<[ProbeReference]>) {
    let sources = Sources()
    round.load { worker in
        worker.begin("change")
        let before = (0..<16).map { _ in sources.change(worker) }
        let ending = Ending(worker, sources)
        worker.begin("change")
        let after = (0..<16).map { _ in sources.change(worker) }
        values.withLock { $0 += before + after }
        ending.end(worker, sources)
        worker.checkCounts()
    }
}

/// The observed sources: a property, and a path.
private final class Sources: Sendable {
    final class Root: ConcurrentObservable {
        let end = Observed(End())
    }

    final class End: ConcurrentObservable {
        let value = Observed(TrackedValue(serial: 0))
    }

    let property = Observed(TrackedValue(serial: 0))
    let root = Root()
    private let ends = [End(), End()]
    /// Each kind of delivery, for the property and for the path. The first ones can pass the handle
    /// to the callback.
    let deliveries: [(OrderedDelivery, isOnPath: Bool)]

    init() {
        let stage = OrderedDelivery.stage(Stage())
        let queue = OrderedDelivery.queue(DispatchQueue(label: "stress.cancelled"))
        deliveries = [
            (.serial, false), (queue, false), (.actor(Listener()), false), (.actor(Listener()), false),
            (stage, false), (.isolated, false), (queue, true), (.serial, true), (stage, true),
        ]
    }

    /// Makes a change in one of the sources. Returns the probe of the new value.
    @inline(never)
    func change(_ worker: Worker) -> ProbeReference {
        let value = TrackedValue(serial: worker.uniqueSerial())
        switch worker.generator.below(8) {
        case 0: root.end.value = ends[worker.generator.below(2)]
        case 1...3: ends[worker.generator.below(2)].value.value = value
        default: property.value = value
        }
        return value.probe
    }
}

/// An observation that is ended while changes wait for it.
private struct Ending {
    /// The way in which the observation ends.
    private let way: Way
    private let subject: Subject
    private let state: EndState
    private let isOnPath: Bool

    enum Way: CaseIterable { case wait, asyncWait, cancel, letGo, fromWithin }

    init(_ worker: Worker, _ sources: Sources) {
        worker.begin("observe")
        way = Way.allCases[worker.generator.below(Way.allCases.count)]
        let policies: [Buffering] = [.unbounded, .latest, .droppingOldest(4), .droppingNewest(1), .droppingNewest(4)]
        let buffering = policies[worker.generator.below(policies.count)]
        let options: ObservationOptions = worker.generator.oneIn(2) ? .initial : []
        let kinds = way == .fromWithin ? 2 : sources.deliveries.count
        let (delivery, isOnPath) = sources.deliveries[worker.generator.below(kinds)]
        let state = EndState()
        let body = state.body(worker.round, endsItself: way == .fromWithin)
        subject = Subject(serial: worker.uniqueSerial()) { call in
            let called: EndState.Body = { arrival in call { _ in body(arrival) } }
            let path = sources.root.property(\.end.value)
            return isOnPath
                ? delivery.observe(path, options: options, buffering: buffering, called)
                : delivery.observe(sources.property, options: options, buffering: buffering, handsOut: true, called)
        }
        (self.state, self.isOnPath) = (state, isOnPath)
    }

    func end(_ worker: Worker, _ sources: Sources) {
        let counts = { [observer = subject.token] in observer.deliveryCounts! }
        let left = way == .fromWithin ? counts().dropped : counts().pending
        if left > 0, let window = Way.allCases.firstIndex(of: way) { worker.hit(window) }
        switch way {
        case .wait:
            worker.cancelAndWait(subject)
        case .asyncWait:
            worker.begin("await cancelAndWait")
            let (outcome, destroyed) = AwaitedTask { [subject] in await subject.awaitEnd() }.result()
            worker.check(outcome == .finished, "P9.async-outcome", "await cancelAndWait() returned \(outcome)")
            worker.check(destroyed == 1, "P9.closure-destroyed", "destroyed \(destroyed) times at the return")
        case .cancel, .fromWithin:
            worker.begin("cancel")
            subject.token.cancel()
            // Changes that begin after this line have a later version. A path has its own versions,
            // so it is not checked.
            if !isOnPath { state.lastVersion.store(sources.property.version, ordering: .relaxed) }
            worker.checkDestruction(of: subject.probe)
        case .letGo:
            // The caller releases the last reference to the token when this returns.
            return worker.begin("let go")
        }
        guard worker.generator.oneIn(16) else { return }
        worker.begin("wait for the counts")
        worker.round.wait(for: "P1.counts-add-up", "\(counts()) after the end") { counts().pending == 0 }
    }
}

/// The state with which a callback checks whether it may run.
private final class EndState: Sendable {
    /// Set by the callback itself, on its own queue.
    private let isSilent = Atomic<Bool>(false)
    /// The version of the property after `cancel` has returned.
    let lastVersion = Atomic<UInt64>(.max)

    typealias Body = @Sendable (OrderedDelivery.Arrival<TrackedValue>) -> Void

    func body(_ round: Round, endsItself: Bool) -> Body {
        { [self] arrival in
            check(arrival.change, round.violations)
            if arrival.change.version & 7 == 0 { usleep(50) }
            guard endsItself, let handle = arrival.handle else { return }
            handle.cancel()
            isSilent.store(true, ordering: .relaxed)
        }
    }

    private func check(_ change: Change<TrackedValue>, _ violations: Violations) {
        // A change that began after `cancel` had returned must not arrive.
        if change.version > lastVersion.load(ordering: .relaxed) {
            violations.report("P8.silent-after-cancel", "version \(change.version) after cancel at an earlier one")
        }
        if isSilent.load(ordering: .relaxed) {
            violations.report("P8.silent-on-its-own-queue", "version \(change.version) after it has cancelled itself")
        }
        for case let value? in [change.old, change.new] where !value.isWhole || value.probe.destroyed != 0 {
            violations.report("P14.not-while-read", "a value is destroyed while a callback uses it")
        }
    }
}

extension Worker {
    /// In one of 16 calls, waits until a closure whose observation has ended is destroyed. (P14)
    fileprivate func checkDestruction(of probe: ProbeReference) {
        guard generator.oneIn(16) else { return }
        begin("await a destruction")
        _ = waitWhileMoving { probe.destroyed > 0 }
        check(probe.destroyed == 1, "P14.destroyed-once", "a closure was destroyed \(probe.destroyed) times")
    }
}

// MARK: - At rest

/// Releases actors while more changes wait than an actor takes at a time. Checks that the
/// observations end, and that the counts add up. (P1, P13)
///
/// - Returns: Whether an actor died with changes left.
private func checkDeathOfActors(_ round: Round) -> Bool {
    var hasDropped = false
    for _ in 0..<4 where round.violations.isEmpty {
        let property = Observed<UInt64>(0)
        let token = observeOnMortal(property)
        let counts = { token.deliveryCounts! }
        round.wait(
            for: "P13.actor-death-noticed",
            "an observation goes on whose actor is gone",
            moving: { counts().received }
        ) {
            // The next change finds that the actor is gone. While the actor delivers, it is alive.
            property.value = 0
            return !token.isActive
        }
        round.wait(for: "P1.counts-add-up", "\(counts()) after the actor's death") { counts().pending == 0 }
        if counts().dropped > 0 { hasDropped = true }
    }
    return hasDropped
}

/// Observes on an actor that only the observation retains, and makes more changes than the actor
/// takes at a time.
private func observeOnMortal(_ property: Observed<UInt64>) -> ObservationToken {
    let stage = Stage()
    let token = property.observe(on: stage) { _, _ in }
    stage.executor.pause { for number in 1...4_000 as ClosedRange<UInt64> { property.value = number } }
    return token
}

/// Checks, when the sources are gone, that every value was destroyed once. (P14)
private func checkValues(_ round: Round, _ values: Guarded<[ProbeReference]>) {
    guard round.violations.isEmpty else { return }
    let values = values.withLock { $0 }
    _ = waitWhileMoving { values.allSatisfy { $0.destroyed > 0 } }
    let wrong = values.filter { $0.destroyed != 1 }
    round.check(wrong.isEmpty, "P14.value-destroyed") {
        "of \(values.count) values, \(wrong.count) were not destroyed once, the first \(wrong.first?.destroyed ?? 0) times"
    }
}
