// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Registries die by their last reference on any thread, while others notify them, register,
    /// and cancel their tokens.
    static let registryDeath = Scenario(
        name: "registry-death",
        summary: "the last reference to a registry goes while others notify, register and cancel",
        invariants: [
            "P11.not-retained", "P12.end-once", "P12.reason", "P12.inactive", "P14.not-while-called",
            "P14.destroyed-once",
            "P14.nothing-left", "P16.backlog-drains", "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: [
            "source died with tokens alive", "cancelled before the source died", "dropped in a callback",
            "asked when the closure was gone",
        ],
        leastThreads: 3
    ) { round in
        let slots = (0..<4).map { _ in Place<Source>() }

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            switch worker.generator.below(8) {
            case 0:
                worker.begin("make a source")
                let source = Source()
                let subjects = (0...worker.generator.below(12)).map { _ in
                    EndedSubject(
                        worker.observe(source.registry) { worker, _ in
                            guard let worker, worker.generator.oneIn(32) else { return }
                            worker.hit(2)
                            _ = slot.exchange(nil)
                        },
                        listensLate: worker.generator.oneIn(4)
                    )
                }
                source.keep(subjects)
                _ = slot.exchange(source)
            case 1:
                worker.begin("drop a source")
                guard let source = slot.exchange(nil) else { return }
                let subjects = source.subjects
                worker.endSource(source, subjects)
            case 2:
                worker.begin("cancel a token")
                guard let subject = slot.content?.subjects.randomElement(using: &worker.generator) else { return }
                subject.cancel()
                worker.hit(1)
                guard subject.listensLate else { return }
                worker.begin("ask for the end late")
                if subject.listenLate() { worker.hit(3) }
            case 3:
                worker.begin("register")
                guard let source = slot.content else { return }
                let subject = worker.observe(source.registry)
                worker.pass(source.registry, watching: subject.probe)
            default:
                worker.begin("notify")
                guard let source = slot.content else { return }
                worker.pass(source.registry)
            }
        }

        for slot in slots { _ = slot.exchange(nil) }
        round.checkRest()
        EndedSubject.checkAll(round)
    }
}

/// A registry and the tokens that its slot keeps.
private final class Source: Sendable {
    let registry = ObserverRegistry<UInt64>(label: "source")
    private let kept = Guarded<[EndedSubject]>([])

    var subjects: [EndedSubject] { kept.withLock { $0 } }
    func keep(_ subjects: [EndedSubject]) { kept.withLock { $0 = subjects } }
}

/// An observation whose end is recorded.
private final class EndedSubject: Sendable {
    let subject: Subject
    private let record: Record

    fileprivate final class Record: Sendable {
        let probe: ProbeReference
        let serial: UInt64
        let isCancelled = Atomic<Bool>(false)
        /// How many listeners the end has, and how often it was delivered.
        let listeners = Atomic<Int>(0)
        let ends = Atomic<Int>(0)
        let reason = Atomic<UInt32>(.max)

        init(_ probe: ProbeReference) {
            self.probe = probe
            serial = probe.serial
        }
    }

    private static let records = Guarded<[Record]>([])

    /// Whether every listener comes after the end.
    let listensLate: Bool

    init(_ subject: Subject, listensLate: Bool) {
        self.subject = subject
        self.listensLate = listensLate
        let record = Record(subject.probe)
        self.record = record
        Self.records.withLock { $0.append(record) }
        if !listensLate { listen() }
    }

    private func listen() {
        let record = record
        record.listeners.add(1, ordering: .relaxed)
        subject.token.onEnd { end in
            checkUserCode("onEnd body")
            record.reason.store(end.rawValue, ordering: .relaxed)
            record.ends.add(1, ordering: .releasing)
        }
    }

    /// Adds a listener for an end that is coming: as soon as the closure is destroyed, if that is
    /// soon.
    ///
    /// - Returns: Whether the closure was gone.
    func listenLate() -> Bool {
        let limit = nanoseconds() + 5_000_000
        while record.probe.destroyed == 0, record.probe.serial == record.serial, nanoseconds() < limit { sched_yield() }
        listen()
        return record.probe.destroyed != 0
    }

    func cancel() {
        record.isCancelled.store(true, ordering: .relaxed)
        subject.probe.markEnding()
        subject.token.cancel()
    }

    /// At rest: every observation has ended once, for a reason that there was, and its closure is
    /// gone.
    static func checkAll(_ round: Round) {
        let all = records.withLock { records in
            defer { records = [] }
            return records
        }
        guard round.violations.isEmpty else { return }
        for record in all where record.probe.serial == record.serial {
            let ends = record.ends.load(ordering: .acquiring)
            let listeners = record.listeners.load(ordering: .relaxed)
            round.check(ends == listeners, "P12.end-once", "\(listeners) bodies of onEnd were called \(ends) times")
            let reason = ObservationEnd(rawValue: record.reason.load(ordering: .relaxed))
            round.check(
                reason == .sourceDeleted || reason == .cancelled || listeners == 0,
                "P12.reason",
                "ended with \(String(describing: reason))"
            )
            round.check(record.probe.destroyed == 1, "P14.destroyed-once", "destroyed \(record.probe.destroyed) times")
        }
    }
}

extension Worker {
    /// Drops the last reference that the slot had; if it was the last of all, the source's death
    /// shows at once.
    fileprivate func endSource(_ source: consuming Source, _ subjects: [EndedSubject]) {
        weak let registry = source.registry
        _ = consume source
        guard registry == nil else { return }
        hit(0)
        // Another thread may have dropped the last reference, and be in the middle of it.
        let limit = nanoseconds() + 10_000_000_000
        for subject in subjects {
            while subject.subject.token.isActive, nanoseconds() < limit { sleepBriefly() }
            check(!subject.subject.token.isActive, "P12.inactive", "a token is active after its source's death")
        }
        check(registry == nil, "P11.not-retained", "an observation keeps its source alive")
    }
}
