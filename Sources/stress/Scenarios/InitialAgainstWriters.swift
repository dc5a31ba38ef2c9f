// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Observers register, most of them with `.initial`, while other threads change the property.
    /// No change is lost, and none is received twice.
    static let initialAgainstWriters = Scenario(
        name: "initial-against-writers",
        summary: "observers register while the property changes: every version after the first, once",
        invariants: [
            "P4.initial-once", "P4.initial-value", "P4.nothing-between", "P4.nothing-earlier", "P3.last-value",
            "P5.no-lock-around-user-code",
        ] + checkedAtRest,
        windows: ["a change was received beside the initial value", "registered while a change was made"],
        leastThreads: 3
    ) { round in
        // The property's value is its version.
        let property = Observed<UInt64>(0)
        let observers = (0..<round.threads).map { _ in Guarded<[CountingObserver]>([]) }
        let writers = max(2, round.threads / 2)

        round.load([
            Round.Role(threads: writers) { worker in
                worker.begin("modify")
                property.modify { $0 += 1 }
            },
            Round.Role(threads: round.threads - writers) { worker in
                // More observers would slow the writers too much. The last part of the round has no
                // registrations.
                guard observers[worker.index].withLock({ $0.count < 48 }) else { return sleepBriefly() }
                worker.begin("observe")
                let before = property.version
                let observer = CountingObserver(withInitial: worker.generator.below(4) > 0, before: before)
                observer.start(on: property, worker)
                if property.version != before { worker.hit(1) }
                if observer.wasOvertaken { worker.hit(0) }
                observers[worker.index].withLock { $0.append(observer) }
                sleepBriefly()
            },
        ])

        let (value, version) = property.snapshot()
        round.check(value == version, "P3.last-value", "value \(value), version \(version)")
        for observer in observers.flatMap({ $0.withLock { $0 } }) { observer.check(round, version) }
        for observer in observers { observer.withLock { $0 = [] } }
        round.checkRest()
    }
}

/// One observer, and the sum of the versions that it has received. Callbacks run on every thread,
/// so the sum is atomic.
private final class CountingObserver: Sendable {
    private let withInitial: Bool
    private let versionBefore: UInt64
    /// Stands for "nothing received". It is not the largest number, because the standard library's
    /// `min` takes that for -1.
    private static let none: UInt64 = 1 << 62
    private let initial = Atomic<UInt64>(none)
    private let initials = Tally()
    /// The observer receives the changes after this version. It is the initial version, or the
    /// smallest received version minus one.
    private let smallest = Atomic<UInt64>(none)
    private let largest = Atomic<UInt64>(0)
    private let (calls, versions) = (Tally(), Tally())
    private let overtaken = Atomic<Bool>(false)
    private let token = Guarded<ObservationToken?>(nil)

    init(withInitial: Bool, before version: UInt64) {
        self.withInitial = withInitial
        versionBefore = version
    }

    var wasOvertaken: Bool { overtaken.load(ordering: .relaxed) }

    func start(on property: Observed<UInt64>, _ worker: Worker) {
        let observed = property.observe(options: withInitial ? .initial : []) { [weak self] change in
            checkUserCode("callback")
            self?.note(change, on: worker)
        }
        worker.check(!withInitial || initials.value == 1, "P4.initial-once") {
            "received \(initials.value) initial values before observe returned"
        }
        token.withLock { $0 = observed }
    }

    private func note(_ change: Change<UInt64>, on registering: Worker) {
        guard let worker = Worker.current else { return }
        worker.check(change.new == change.version, "P4.initial-value", "\(change)")
        if change.reason == .initial {
            worker.check(worker === registering, "P4.initial-once", "the initial value came on another thread")
            initials.increment()
            initial.store(change.version, ordering: .relaxed)
            // Some callbacks take some time while other threads receive changes.
            if worker.generator.oneIn(4) { sleepBriefly() }
            if calls.value > 0 { overtaken.store(true, ordering: .relaxed) }
            return
        }
        calls.increment()
        versions += change.version
        smallest.min(change.version, ordering: .relaxed)
        largest.max(change.version, ordering: .relaxed)
    }

    /// Checks at rest that each version after the first was received once.
    func check(_ round: Round, _ version: UInt64) {
        let (calls, sum) = (calls.value, versions.value)
        let (smallest, largest) = (smallest.load(ordering: .relaxed), largest.load(ordering: .relaxed))
        var since = initial.load(ordering: .relaxed)
        if withInitial {
            round.check("the number of initial values", initials.value, is: 1, "P4.initial-once")
        } else {
            since = calls == 0 ? version : smallest - 1
        }
        round.check(since >= versionBefore, "P4.nothing-earlier") {
            "received the versions after \(since), but \(versionBefore) was there before"
        }
        guard calls > 0 || since < version else { return }
        round.check(smallest > since, "P4.nothing-earlier", "received version \(smallest) after initial \(since)")
        round.check("the last version received", largest, is: version, "P3.last-value")
        round.check(
            calls == version &- since && sum == sumOfNumbers(after: since, through: version),
            "P4.nothing-between",
            "from version \(since) to \(version) received \(calls), sum \(sum)"
        )
    }
}

/// Returns the sum of the whole numbers after `first`, up to `last`.
private func sumOfNumbers(after first: UInt64, through last: UInt64) -> UInt64 {
    func triangle(_ number: UInt64) -> UInt64 {
        number.isMultiple(of: 2) ? (number / 2) &* (number &+ 1) : number &* ((number &+ 1) / 2)
    }
    return triangle(last) &- triangle(first)
}
