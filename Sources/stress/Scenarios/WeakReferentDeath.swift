// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Referents of weak properties die on any thread, while others set, read and observe.
    static let weakReferentDeath = Scenario(
        name: "weak-referent-death",
        summary: "referents of weak properties die on any thread while others set, read and observe",
        invariants: [
            "P12.nil-once", "P12.inline-nil", "P12.successor-stays", "P12.inactive", "P2.weak-chain", "P2.never-nil",
            "P11.not-retained", "P11.alive-when-read",
        ] + checkedInCallbacks + checkedAtRest,
        windows: [
            "death delivered", "replaced before its death was delivered", "died in a callback",
            "died by a reader's release", "property died first",
        ]
    ) { round in
        let diaries = Diaries(threads: round.threads)
        let properties = (0..<2).map { _ in WeakObserved<Mortal>() }
        let owners = (0..<4).map { _ in Place<Mortal>() }
        // A referent that lives longer than many properties that refer to it.
        let survivor = Mortal(serial: 1, diaries)
        let succession = Succession(diaries)
        // The first observer of each property: no other code runs between a change and its call.
        let standing = properties.indices.map { index in
            properties[index].observe { change in
                checkUserCode("callback")
                diaries.write { $0.note(change, property: index) }
            }
        }

        round.load { worker in
            let index = worker.generator.below(properties.count)
            let property = properties[index]
            let owner = owners[worker.generator.below(owners.count)]
            switch worker.generator.below(14) {
            case 0..<4:
                worker.begin("set a new one")
                let referent = Mortal(serial: worker.uniqueSerial(), diaries)
                worker.set(property, index, to: referent, diaries)
                _ = owner.exchange(referent)
            case 4:
                worker.begin("set one of another's, or nil")
                worker.set(property, index, to: owner.content, diaries)
            case 5, 6:
                worker.begin("drop")
                _ = owner.exchange(nil)
            case 7, 8: worker.read(property, owner, diaries)
            case 9: worker.watch(property, index, owner, diaries)
            case 10: worker.outliveProperty(of: survivor)
            case 11: succession.replace(worker, diaries)
            case 12: succession.judge(worker)
            default: worker.seeDeath(diaries)
            }
        }

        for owner in owners { _ = owner.exchange(nil) }
        succession.end()
        round.check(diaries, properties, survivors: 1)
        for token in standing { token.cancelAndWaitBlocking() }
        round.checkRest()
        withExtendedLifetime(survivor) {}
    }
}

/// A referent that shows whether its deinit has begun.
final class Mortal: WeaklyObservable {
    let serial: UInt64
    let lifetime = ReferentLifetime()
    private let diaries: Diaries
    private let canary = Atomic<UInt64>(0x600D)

    init(serial: UInt64, _ diaries: Diaries) {
        self.serial = serial
        self.diaries = diaries
        diaries.write { $0.births += 1 }
    }

    /// Relaxed: a wrong answer is a violation in any case.
    var isAlive: Bool { canary.load(ordering: .relaxed) == 0x600D }

    deinit {
        checkUserCode("referent's deinit")
        canary.store(0xDEAD, ordering: .relaxed)
        let wasRead = diaries.write { diary in
            diary.deaths.append(serial)
            return diary.reading == serial
        }
        guard let worker = Worker.current else { return }
        if worker.depth > 0 { worker.hit(2) }
        if wasRead { worker.hit(3) }
    }
}

/// The root of a path to a weak property.
private final class Holder: ConcurrentObservable {
    let referent = WeakObserved<Mortal>()
}

/// A weak property that always refers to an object. The previous object dies when the property
/// refers to the next one.
private final class Succession: Sendable {
    private let property: WeakObserved<Mortal>
    private let owned: Guarded<Mortal?>

    init(_ diaries: Diaries) {
        let first = Mortal(serial: 2, diaries)
        (property, owned) = (WeakObserved(first), Guarded(first))
    }

    func replace(_ worker: Worker, _ diaries: Diaries) {
        worker.begin("replace what is referred to always")
        let next = Mortal(serial: worker.uniqueSerial(), diaries)
        owned.withLock { owned in
            let before = owned
            property.value = next
            owned = next
            // Kept until here: otherwise the property would become nil.
            withExtendedLifetime(before) {}
        }
    }

    func judge(_ worker: Worker) {
        worker.begin("read what is never nil")
        for _ in 0..<8 {
            let isThere = property.snapshot().value != nil
            worker.check(isThere, "P2.never-nil", "a property that always refers to an object was read as nil")
        }
    }

    /// Releases the referent. Otherwise the property, which dies afterwards, would still observe
    /// the referent's death.
    func end() { _ = owned.withLock { $0.take() } }
}

// MARK: - What the threads do

extension Worker {
    /// Sets a property, and checks that the change is delivered before the setter returns.
    fileprivate func set(
        _ property: WeakObserved<Mortal>,
        _ index: Int,
        to referent: Mortal?,
        _ diaries: Diaries
    ) {
        diaries.write { $0.settings[index] = .some(referent?.serial) }
        if generator.oneIn(8) {
            checkAlive(property.exchange(referent), "as the one that was replaced")
        } else {
            property.value = referent
        }
        let isDelivered = diaries.write { $0.settings[index] == nil }
        check(isDelivered, "P2.weak-chain", "a change was not delivered on its thread")
    }

    /// Reads a referent while its owner may release it.
    fileprivate func read(_ property: WeakObserved<Mortal>, _ owner: Place<Mortal>, _ diaries: Diaries) {
        begin("read")
        let referent = generator.oneIn(2) ? property.value : property.snapshot().value
        if generator.oneIn(4) { _ = owner.exchange(nil) }
        checkAlive(referent, "when it is read")
        let serial = referent?.serial
        diaries.write { $0.reading = serial }
    }

    /// Observes for some time, with callbacks that release referents and set the property again.
    fileprivate func watch(
        _ property: WeakObserved<Mortal>,
        _ index: Int,
        _ owner: Place<Mortal>,
        _ diaries: Diaries
    ) {
        begin("observe")
        let subject = Subject(serial: uniqueSerial()) { call in
            property.observe(options: .initial) { change in
                call { worker in
                    worker?.checkAlive(change.old.flatMap(\.self), "as the old value")
                    worker?.checkAlive(change.new, "as the new one")
                    guard let worker, worker.depth < 3 else { return }
                    if worker.generator.oneIn(4) { _ = owner.exchange(nil) }
                    if worker.generator.oneIn(8) { worker.set(property, index, to: owner.content, diaries) }
                }
            }
        }
        for _ in 0..<4 {
            let referent = Mortal(serial: uniqueSerial(), diaries)
            set(property, index, to: referent, diaries)
            if generator.oneIn(2) { _ = owner.exchange(referent) }
        }
        if generator.oneIn(2) { cancel(subject) } else { subject.end() }
    }

    /// Makes a property die before its referent. Checks that the observation has ended. At rest the
    /// referent must have no observation left.
    fileprivate func outliveProperty(of survivor: Mortal) {
        begin("let a property die first")
        let token: ObservationToken
        do {
            let property = WeakObserved(survivor)
            token = property.observe { _ in checkUserCode("callback") }
            property.value = survivor
        }
        check(!token.isActive, "P12.inactive", "the token is active after its property's death")
        hit(4)
    }

    /// Makes a referent and a property that no other thread uses. Checks that the death is
    /// delivered when the last reference is released.
    fileprivate func seeDeath(_ diaries: Diaries) {
        begin("let a referent die in sight")
        let holder = Holder()
        let property = holder.referent
        // An iterator that is never asked. The events that wait for it keep no object alive.
        let idle = holder.property(\.referent).values(buffering: .latest).makeAsyncIterator()
        let deliveredVersions = Record<UInt64>()
        let token = property.observe { change in
            checkUserCode("callback")
            if change.new == nil { deliveredVersions.note(change.version) }
        }
        let serial = uniqueSerial()
        do {
            let referent = Mortal(serial: serial, diaries)
            property.value = referent
            if generator.oneIn(2) { property.value = referent }
        }
        let (versions, isDead) = (deliveredVersions.all, diaries.write { $0.deaths.last == serial })
        check(isDead, "P11.not-retained", "a referent is alive after its last owner let it go")
        check(versions == [property.version] && property.value == nil, "P12.inline-nil") {
            "after its referent's death a property is at version \(property.version), and nil was delivered at \(versions)"
        }
        withExtendedLifetime((token, idle)) {}
    }

    fileprivate func checkAlive(_ referent: Mortal?, _ moment: StaticString) {
        check(referent?.isAlive ?? true, "P11.alive-when-read", "a referent is dead \(moment)")
    }
}
