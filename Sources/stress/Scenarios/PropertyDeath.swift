// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Properties die by their last reference on any thread, while others change them, register,
    /// and cancel their tokens.
    static let propertyDeath = Scenario(
        name: "property-death",
        summary: "the last reference to a property goes while others change it, register and cancel",
        invariants: [
            "P12.end-last", "P12.end-once", "P12.reason",
            "P14.destroyed-once", "P14.value-destroyed", "P14.not-while-called", "P14.nothing-left",
            "P16.backlog-drains",
            "P5.no-lock-around-user-code", "P9.nothing-after-wait",
        ],
        windows: [
            "died with observers", "cancelled before the end", "dropped in a callback",
        ],
        leastThreads: 3
    ) { round in
        let slots = (0..<4).map { _ in Place<Source>() }
        let witnesses = (0..<round.threads).map { _ in Witnesses() }
        let values = Census()

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            let seen = witnesses[worker.index]
            switch worker.generator.below(8) {
            case 0:
                worker.begin("make a property")
                let source = Source(worker, values)
                let count = worker.generator.below(12)
                for _ in 0...count { source.add(seen.make(on: source.property, slot, worker)) }
                _ = slot.exchange(source)
            case 1:
                worker.begin("drop a property")
                let dropped = slot.exchange(nil)
                guard let witnesses = dropped?.witnesses, !witnesses.isEmpty else { return }
                worker.hit(0)
            case 2:
                worker.begin("cancel a token")
                guard let source = slot.content else { return }
                guard let witness = source.witnesses.randomElement(using: &worker.generator) else { return }
                witness.cancel(andWait: worker.generator.oneIn(4), worker)
                withExtendedLifetime(source) { witness.noteCancellation() }
                worker.hit(1)
            case 3:
                worker.begin("register")
                guard let source = slot.content else { return }
                source.add(seen.make(on: source.property, slot, worker))
            default:
                worker.begin("set")
                guard let source = slot.content else { return }
                source.property.value = TrackedValue(serial: worker.uniqueSerial(), atEnd: values.member())
            }
        }

        for slot in slots { _ = slot.exchange(nil) }
        round.checkRest()
        for seen in witnesses { seen.checkAll(round) }
        let alive = values.alive.load(ordering: .acquiring)
        round.check(alive == 0, "P14.value-destroyed", "\(alive) values are alive after their properties' death")
    }
}

/// Counts values.
private final class Census: Sendable {
    let alive = Atomic<Int>(0)

    /// Counts one in, and returns what counts it out.
    func member() -> @Sendable () -> Void {
        alive.add(1, ordering: .relaxed)
        return { [self] in alive.subtract(1, ordering: .releasing) }
    }
}

/// A property and what the slot keeps of its observations.
private final class Source: Sendable {
    let property: Observed<TrackedValue>
    private let kept = Guarded<[Witness]>([])

    init(_ worker: Worker, _ values: Census) {
        property = Observed(TrackedValue(serial: worker.uniqueSerial(), atEnd: values.member()))
    }

    var witnesses: [Witness] { kept.withLock { $0 } }
    func add(_ witness: Witness) { kept.withLock { $0.append(witness) } }
}

/// An observation, and what it has received of the end.
private final class Witness: Sendable {
    let subject: Subject
    private let record: Record

    final class Record: Sendable {
        let callsAfter = Atomic<Int>(0)
        /// Whether it was cancelled, or had ended, while its property was certainly alive.
        let isCancelledAlive = Atomic<Bool>(false)
        let ends = Atomic<Int>(0)
        let reason = Atomic<UInt32>(.max)
    }

    init(_ subject: Subject, _ record: Record) {
        self.subject = subject
        self.record = record
        subject.token.onEnd { end in
            checkUserCode("onEnd body")
            record.reason.store(end.rawValue, ordering: .relaxed)
            record.ends.add(1, ordering: .releasing)
        }
    }

    /// It was cancelled, and its property is alive: it cannot end by the property's death.
    func noteCancellation() { record.isCancelledAlive.store(true, ordering: .relaxed) }

    func cancel(andWait waits: Bool, _ worker: Worker) {
        subject.probe.markEnding()
        guard waits, worker.depth == 0 else { return subject.token.cancel() }
        worker.begin("cancelAndWait")
        subject.token.cancelAndWaitBlocking()
        subject.probe.markDead()
    }
}

/// The observations that one thread has made.
private final class Witnesses: @unchecked Sendable {
    // Unchecked: one thread appends, others read after joining it.
    private var all: [(probe: ProbeReference, serial: UInt64, record: Witness.Record)] = []

    func make(on property: Observed<TrackedValue>, _ slot: Place<Source>, _ worker: Worker) -> Witness {
        let record = Witness.Record()
        let subject = worker.observe(property, options: worker.generator.oneIn(4) ? .prior : []) { worker, _ in
            if record.ends.load(ordering: .acquiring) > 0 { record.callsAfter.add(1, ordering: .relaxed) }
            if let worker, worker.generator.oneIn(32) {
                worker.hit(2)
                _ = slot.exchange(nil)
            }
        }
        let witness = Witness(subject, record)
        all.append((subject.probe, subject.probe.serial, record))
        return witness
    }

    /// At rest: each has ended once, and received nothing afterwards.
    func checkAll(_ round: Round) {
        guard round.violations.isEmpty else { return }
        for (probe, serial, record) in all where probe.serial == serial {
            let ends = record.ends.load(ordering: .acquiring)
            round.check(ends == 1, "P12.end-once", "onEnd was called \(ends) times")
            let reason = ObservationEnd(rawValue: record.reason.load(ordering: .relaxed))
            round.check(
                reason == .sourceDeleted || reason == .cancelled,
                "P12.reason",
                "ended with \(String(describing: reason))"
            )
            round.check(
                reason == .cancelled || !record.isCancelledAlive.load(ordering: .relaxed),
                "P12.reason",
                "cancelled while its property was alive, ended with \(String(describing: reason))"
            )
            let after = record.callsAfter.load(ordering: .relaxed)
            round.check(after == 0, "P12.end-last", "received \(after) changes after the end")
            round.check(probe.destroyed == 1, "P14.destroyed-once", "destroyed \(probe.destroyed) times")
        }
    }
}
