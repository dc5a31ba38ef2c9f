// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

extension Scenario {
    /// Observations with each kind of ordered delivery end, in each possible way, while changes
    /// wait in their mailboxes.
    static let deliveryCancellation = Scenario(
        name: "delivery-cancellation",
        summary: "ordered deliveries end in every way while changes wait: silence, and everything destroyed once",
        invariants: [
            "P1.counts-add-up", "P1.received-if-called", "P5.no-lock-around-user-code", "P8.counted-until-the-end",
            "P8.ends-with-its-owners", "P8.members-count-once",
            "P8.silent-after-cancel", "P8.silent-after-comparison", "P8.silent-on-its-own-queue",
            "P9.outcome", "P9.closure-destroyed", "P9.inactive", "P9.nothing-after-wait", "P9.async-outcome",
            "P13.actor-death-noticed", "P14.not-while-called", "P14.not-while-read", "P14.destroyed-once",
            "P14.value-destroyed", "P14.nothing-left", "P16.backlog-drains",
        ],
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
    private let listeners = [Listener(), Listener()]
    let stage = Stage()
    let queue = DispatchQueue(label: "stress.cancelled")

    var listener: Listener { listeners[Int(nanoseconds() & 1)] }

    /// Makes a change somewhere; returns the probe of the value that it brings.
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

/// An observation that is to end while changes wait for it.
private struct Ending {
    /// How the observation ends.
    private let way: Way
    private let subject: Subject
    private let state: EndState

    enum Way: CaseIterable { case wait, asyncWait, cancel, letGo, fromWithin }

    init(_ worker: Worker, _ sources: Sources) {
        worker.begin("observe")
        way = Way.allCases[worker.generator.below(Way.allCases.count)]
        let policies: [Buffering] = [.unbounded, .latest, .droppingOldest(4), .droppingNewest(1), .droppingNewest(4)]
        let buffering = policies[worker.generator.below(policies.count)]
        let options: ObservationOptions = worker.generator.oneIn(2) ? .initial : []
        let probe = ProbeReference.make(serial: worker.uniqueSerial())
        let kind = way == .fromWithin ? 5 + worker.generator.below(2) : worker.generator.below(8)
        state = EndState(isOnProperty: [0, 1, 2, 5, 6].contains(kind))
        let token = Self.observe(
            sources,
            kind: kind,
            options,
            buffering,
            Self.body(probe, state, worker.round, endsItself: way == .fromWithin)
        )
        subject = Subject(probe: probe, token: token)
    }

    private typealias Body = @Sendable (Change<TrackedValue>, ObservationHandle?) -> Void

    /// A function of its own, so that nothing but the closure keeps the capture.
    private static func body(
        _ probe: ProbeReference,
        _ state: EndState,
        _ round: Round,
        endsItself: Bool
    ) -> Body {
        let capture = Capture(probe)
        return { change, handle in
            checkUserCode("callback")
            state.check(probe, change, round.violations)
            probe.markRunning(true)
            if change.version & 7 == 0 { usleep(50) }
            if endsItself, let handle {
                handle.cancel()
                state.isSilent.store(true, ordering: .relaxed)
            }
            probe.markRunning(false)
            state.check(probe, nil, round.violations)
            withExtendedLifetime(capture) {}
        }
    }

    private static func observe(
        _ sources: Sources,
        kind: Int,
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ body: @escaping Body
    ) -> ObservationToken {
        let property = sources.property
        switch kind {
        case 0:
            return property.observe(on: sources.listener, options: options, buffering: buffering) { body($1, nil) }
        case 1: return property.observe(on: sources.stage, options: options, buffering: buffering) { body($1, nil) }
        case 2:
            return property.observeIsolated(options: options, buffering: buffering) { @GlobalListener in body($0, nil) }
        case 3:
            return sources.root.observe(
                \.end.value,
                options: options,
                delivery: .queue(sources.queue, buffering: buffering)
            ) {
                body($0, nil)
            }
        case 4:
            return sources.root.observe(\.end.value, options: options, delivery: .serial(buffering: buffering)) {
                body($0, nil)
            }
        case 5:
            return property.observe(options: options, delivery: .serial(buffering: buffering)) { change, handle in
                body(change, handle)
            }
        case 6:
            return property.observe(options: options, delivery: .queue(sources.queue, buffering: buffering)) {
                change,
                handle in
                body(change, handle)
            }
        default:
            return sources.root.property(\.end.value).observe(on: sources.stage, options: options, buffering: buffering)
            {
                body($1, nil)
            }
        }
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
            worker.awaitEnd(of: subject)
        case .cancel, .fromWithin:
            worker.begin("cancel")
            subject.token.cancel()
            // Changes that begin after this line have a later version.
            state.lastVersion.store(sources.property.version, ordering: .relaxed)
            worker.checkDestruction(of: subject.probe)
        case .letGo:
            // The caller releases the last reference to the token when this returns.
            return worker.begin("let go")
        }
        guard worker.generator.oneIn(16) else { return }
        worker.begin("wait for the counts")
        worker.check(
            waitWhileMoving { counts().pending == 0 },
            "P1.counts-add-up",
            "\(counts()) after the end"
        )
    }
}

/// The state by which a callback checks whether it may run.
private final class EndState: Sendable {
    /// Set by the callback itself, on its own queue.
    let isSilent = Atomic<Bool>(false)
    /// The version when `cancel` had returned.
    let lastVersion = Atomic<UInt64>(.max)
    private let isOnProperty: Bool

    init(isOnProperty: Bool) { self.isOnProperty = isOnProperty }

    func check(_ probe: ProbeReference, _ change: Change<TrackedValue>?, _ violations: Violations) {
        if probe.isDead { violations.report("P9.nothing-after-wait", "a callback runs after cancelAndWait returned") }
        if probe.destroyed != 0 {
            violations.report("P14.not-while-called", "a callback runs whose closure is destroyed")
        }
        guard let change else { return }
        // A change that began after `cancel` had returned must not arrive. A path has versions of
        // its own, so it is not checked.
        if isOnProperty, change.version > lastVersion.load(ordering: .relaxed) {
            violations.report(
                "P8.silent-after-cancel",
                "version \(change.version) after cancel returned at an earlier one"
            )
        }
        if isSilent.load(ordering: .relaxed) {
            violations.report("P8.silent-on-its-own-queue", "version \(change.version) after it has cancelled itself")
        }
        for value in [change.old, change.new] {
            guard let value else { continue }
            if !value.isWhole || value.probe.destroyed != 0 {
                violations.report("P14.not-while-read", "a value is destroyed while a callback uses it")
            }
        }
    }
}

extension Worker {
    /// Awaits the end on a thread of the concurrency runtime. (P9)
    fileprivate func awaitEnd(of subject: Subject) {
        subject.probe.markEnding()
        let done = DispatchSemaphore(value: 0)
        let found = Guarded<(WaitOutcome, Int)?>(nil)
        Task.detached {
            let outcome = await subject.token.cancelAndWait()
            subject.probe.markDead()
            found.withLock { $0 = (outcome, subject.probe.destroyed) }
            done.signal()
        }
        done.wait()
        guard let (outcome, destroyed) = found.withLock({ $0 }) else { return }
        check(outcome == .finished, "P9.async-outcome", "await cancelAndWait() returned \(outcome)")
        check(destroyed == 1, "P9.closure-destroyed", "the closure was destroyed \(destroyed) times at the return")
    }

    /// In one of 16 calls waits until a closure whose observation has ended is destroyed. (P14)
    fileprivate func checkDestruction(of probe: ProbeReference) {
        guard generator.oneIn(16) else { return }
        begin("await a destruction")
        _ = waitWhileMoving { probe.destroyed > 0 }
        check(probe.destroyed == 1, "P14.destroyed-once", "a closure was destroyed \(probe.destroyed) times")
    }
}

// MARK: - At rest

/// Lets actors die while more changes wait than an actor takes at a time. The observations must
/// end, and the counts must add up. (P1, P13)
///
/// - Returns: Whether an actor died with changes left.
private func checkDeathOfActors(_ round: Round) -> Bool {
    var hasDropped = false
    for _ in 0..<4 where round.violations.isEmpty {
        let property = Observed<UInt64>(0)
        let token = observeOnMortal(property)
        let hasEnded = waitWhileMoving({ token.deliveryCounts!.received }) {
            // The next change finds that the actor is gone. While the actor delivers, it lives.
            property.value = 0
            return !token.isActive
        }
        round.check(hasEnded, "P13.actor-death-noticed", "an observation goes on whose actor is gone")
        let isSettled = waitWhileMoving { token.deliveryCounts!.pending == 0 }
        let counts = token.deliveryCounts!
        round.check(isSettled, "P1.counts-add-up", "\(counts) after the actor's death")
        if counts.dropped > 0 { hasDropped = true }
    }
    return hasDropped
}

/// Observes on an actor that only the observation keeps, and enqueues more changes than the actor
/// takes at a time.
private func observeOnMortal(_ property: Observed<UInt64>) -> ObservationToken {
    let stage = Stage()
    let token = property.observe(on: stage) { _, _ in }
    stage.executor.pause { for number in 1...4_000 as ClosedRange<UInt64> { property.value = number } }
    return token
}

/// Checks that every value is destroyed once when the sources are gone. (P14)
private func checkValues(_ round: Round, _ values: Guarded<[ProbeReference]>) {
    guard round.violations.isEmpty else { return }
    let values = values.withLock { $0 }
    _ = waitWhileMoving { values.allSatisfy { $0.destroyed > 0 } }
    let wrong = values.filter { $0.destroyed != 1 }
    round.check(
        wrong.isEmpty,
        "P14.value-destroyed",
        "of \(values.count) values, \(wrong.count) were not destroyed once, the first \(wrong.first?.destroyed ?? 0) times"
    )
}
