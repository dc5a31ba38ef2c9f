// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Owners die while their observers are being called.
    static let ownerDeath = Scenario(
        name: "owner-death",
        summary: "owners die on any thread while their observers are called",
        invariants: [
            "P13.not-after-deinit", "P13.death-noticed", "P13.receives-while-alive", "P13.death-is-no-cancellation",
            "P13.nothing-kept", "P12.end-once", "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: ["called with its owner", "noticed by a notification", "ended as ownerDeleted"]
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let (begun, ends) = (Tally(), Tally())

        round.load { worker in
            worker.begin("observe with an owner")
            var owner: Owner? = Owner()
            let subject = Subject(serial: worker.uniqueSerial()) { call in
                registry.observe(owner: owner!) { owner, _ in
                    call { worker in
                        worker?.checkAlive(owner, "begins")
                        worker?.hit(0)
                        worker?.checkAlive(owner, "ends")
                    }
                }
            }
            let token = subject.token
            begun.increment()
            token.onEnd { reason in
                checkUserCode("onEnd body")
                if reason == .ownerDeleted { Worker.current?.hit(2) }
                ends.increment()
            }
            worker.begin("notify")
            let received = worker.pass(registry, watching: subject.probe)
            worker.checkWatched(received, 1, "P13.receives-while-alive")
            withExtendedLifetime(owner) {}
            if worker.generator.oneIn(2) {
                worker.begin("drop the owner")
                weak let dead = owner
                owner = nil
                if dead == nil {
                    worker.begin("notice by isActive")
                    worker.check(!token.isActive, "P13.death-noticed", "the token is active after its owner's death")
                    worker.hit(2)
                }
            } else {
                worker.begin("notice by notify")
                owner = nil
                let silent = worker.pass(registry, watching: subject.probe)
                worker.checks += 1
                if silent.watchedCalls == 0 { worker.hit(1) }
            }
        }

        round.checkDeadOwnersAreCounted(registry)
        let mistaken = Tally()
        for _ in 0..<32 {
            let token = registry.removeByDyingOwner { end in if end == .cancelled { mistaken.increment() } }
            // The token must not be released before the observation has ended: its release would
            // cancel the observation.
            round.check(!token.isActive, "P13.death-noticed", "the token is active after its owner's death")
        }
        round.checkNothingIsKept(registry)
        round.checkRest()
        let (wrong, count, ended) = (mistaken.value, begun.value, ends.value)
        round.check(wrong == 0, "P13.death-is-no-cancellation", "\(wrong) ends by dying owners count as cancellations")
        guard round.violations.isEmpty else { return }
        round.check(ended == count, "P12.end-once", "\(count) observations, \(ended) ends")
    }
}

/// An owner that shows when its deinit has begun.
private final class Owner: Sendable {
    fileprivate let isDying = Atomic<Bool>(false)
    private let canary = Atomic<UInt64>(0x600D)

    var isAlive: Bool { !isDying.load(ordering: .relaxed) && canary.load(ordering: .relaxed) == 0x600D }

    deinit {
        checkUserCode("owner's deinit")
        isDying.store(true, ordering: .relaxed)
        spin(nanoseconds: 300)
        canary.store(0xDEAD, ordering: .relaxed)
    }
}

extension Worker {
    fileprivate func checkAlive(_ owner: Owner, _ moment: StaticString) {
        check(owner.isAlive, "P13.not-after-deinit", "a callback \(moment) with an owner whose deinit has begun")
    }
}

extension Round {
    /// Checks that observers whose owners are dead are not counted, even without a notification.
    fileprivate func checkDeadOwnersAreCounted(_ registry: ObserverRegistry<UInt64>) {
        var tokens: [ObservationToken] = []
        for _ in 0..<100 { tokens.append(registry.observe(owner: Owner()) { _, _ in }) }
        let count = registry.observationCount
        check(count == 0, "P13.death-noticed", "\(count) observers with dead owners are counted")
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        tokens.append(Group(first, second).observe(owner: Owner()) { _, _ in })
        let counts = [first.observationCount, second.observationCount]
        check(counts == [0, 0], "P13.death-noticed", "a group's members count \(counts) after its owner's death")
        withExtendedLifetime(tokens) {}
    }
}

extension Round {
    /// Checks that a token does not keep memory of the owner after its observation has ended.
    fileprivate func checkNothingIsKept(_ registry: ObserverRegistry<UInt64>) {
        let owner = Owner()
        // Each unowned reference keeps the object's memory, so the references are counted.
        let before = _getUnownedRetainCount(owner)
        let token = registry.observe(owner: owner) { _, _ in }
        token.cancelAndWaitBlocking()
        let after = _getUnownedRetainCount(owner)
        check(after == before, "P13.nothing-kept", "\(after - before) references keep the owner's memory after the end")
        withExtendedLifetime(token) {}
    }
}

/// An owner whose `deinit` ends its observations.
private final class LastWill: Sendable {
    private let registry: ObserverRegistry<UInt64>

    init(_ registry: ObserverRegistry<UInt64>) { self.registry = registry }

    deinit { registry.cancelAllObservations(ownedBy: self) }
}

extension ObserverRegistry<UInt64> {
    /// Observes with an owner whose `deinit` ends the observation.
    fileprivate func removeByDyingOwner(_ onEnd: @escaping @Sendable (ObservationEnd) -> Void) -> ObservationToken {
        let token = observe(owner: LastWill(self)) { _, _ in }
        token.onEnd(onEnd)
        return token
    }
}
