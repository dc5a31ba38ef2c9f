// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Bodies of `modify` return only after other threads have read the property and ended
    /// observations of it.
    static let parkedInModify = Scenario(
        name: "parked-in-modify",
        summary: "bodies of modify that block until others have read the property and ended observations of it",
        invariants: [
            "P5.earlier-value", "P5.throw-publishes-nothing", "P5.deferred-in-body", "P2.version-fits",
            "P4.initial-value", "P9.outcome", "P9.closure-destroyed",
        ] + checkedInCallbacks + checkedAtRest,
        windows: [
            "read while a body was blocked", "cancelled while a body was blocked", "a body threw",
            "registered while a body was blocked",
        ],
        leastThreads: 4
    ) { round in
        // The property's value is its version.
        let property = Observed<UInt64>(0)
        let parking = Parking()
        let pool = Place<[Subject]>()

        round.load([
            Round.Role(threads: 2) { worker in
                worker.begin("modify")
                worker.park(property, parking)
                worker.begin("observe")
                _ = pool.exchange((0..<4).map { _ in worker.observe(property) })
                sleepBriefly()
            },
            Round.Role(threads: round.threads - 2) { worker in
                let before = parking.occupant
                worker.read(property, parking)
                if worker.generator.oneIn(4), let subjects = pool.exchange(nil) {
                    worker.begin("cancel")
                    for subject in subjects { worker.cancelAndWait(subject) }
                    if before != 0, before == parking.occupant { worker.hit(1) }
                }
                if worker.generator.oneIn(8) { worker.register(property, parking) }
                parking.step()
            },
        ])
        _ = pool.exchange(nil)
        let changes = parking.changes.value
        round.check("the version after \(changes) bodies", property.version, is: changes, "P5.throw-publishes-nothing")
        round.checkRest()
    }
}

/// Shows which thread is inside a body, and lets it return when the others have made progress.
private final class Parking: Sendable {
    /// The version that the running body has found plus one, or 0 without a body. Only bodies that
    /// throw leave a version to be found again.
    private let inside = Atomic<UInt64>(0)
    private let (entries, steps) = (Tally(), Tally())
    /// Counts the bodies that have not thrown.
    let changes = Tally()

    /// Sequentially consistent, all: the marks are stored before and after the body, and looked at
    /// before and after the read.
    var occupant: UInt64 { inside.load(ordering: .sequentiallyConsistent) }

    func enter(_ version: UInt64) {
        let entry = entries.increment()
        inside.store(entry << 40 | (version + 1), ordering: .sequentiallyConsistent)
    }
    func leave() { inside.store(0, ordering: .sequentiallyConsistent) }

    func step() { steps.increment() }

    /// Waits until the others have read or cancelled several times. It would wait forever if a body
    /// blocked them.
    func awaitSteps(_ count: UInt64, _ round: Round) {
        let goal = steps.value + count
        while steps.value < goal, !round.isOver { usleep(20) }
    }
}

extension UInt64 {
    fileprivate var version: UInt64 { (self & (1 << 40 - 1)) - 1 }
}

extension Worker {
    fileprivate func park(_ property: Observed<UInt64>, _ parking: Parking) {
        let refuses = generator.oneIn(4)
        let own = observe(property)
        do throws(Refusal) {
            try property.modify { value throws(Refusal) in
                parking.enter(value)
                parking.awaitSteps(8, round)
                check(property.snapshot().version == value, "P5.earlier-value") {
                    "the body does not see the earlier value"
                }
                let outcome = own.token.cancelAndWaitBlocking()
                check(outcome == .deferred, "P5.deferred-in-body", "cancelAndWait in a body returned \(outcome)")
                let found = value
                value += 1
                parking.leave()
                if refuses { throw Refusal() }
                check(value == found + 1, "P5.earlier-value", "\(value) after adding one to \(found)")
            }
            check(!refuses, "P5.throw-publishes-nothing", "the error was lost")
            parking.changes.increment()
        } catch {
            check(refuses, "P5.throw-publishes-nothing", "an error out of nowhere")
            hit(2)
        }
    }
}

extension Worker {
    /// Reads while a body may be blocked. Checks that it finds the value that the body has found.
    fileprivate func read(_ property: Observed<UInt64>, _ parking: Parking) {
        begin("read")
        let before = parking.occupant
        let (value, version) = property.snapshot()
        let borrowed = property.withValue { $0 }
        let after = parking.occupant
        check("the version read", version, is: value, "P2.version-fits")
        guard before != 0, before == after else { return }
        check(
            "what is read beside a body",
            [version, borrowed],
            is: [before.version, before.version],
            "P5.earlier-value"
        )
        hit(0)
    }

    /// Registers while a body may be blocked. Checks that it receives the value that the body has
    /// found.
    fileprivate func register(_ property: Observed<UInt64>, _ parking: Parking) {
        begin("observe")
        let before = parking.occupant
        let initial = Guarded<Change<UInt64>?>(nil)
        let subject = observe(property, options: .initial) { _, change in
            if change.reason == .initial { initial.withLock { $0 = change } }
        }
        let after = parking.occupant
        let received = initial.withLock { $0 }
        check(received != nil && received?.new == received?.version, "P4.initial-value", "\(received, default: "nil")")
        if before != 0, before == after {
            check("what is received beside a body", received?.version, is: before.version, "P5.earlier-value")
            hit(3)
        }
        cancelAndWait(subject)
    }
}
