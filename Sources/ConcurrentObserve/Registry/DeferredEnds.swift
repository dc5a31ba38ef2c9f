// SPDX-License-Identifier: Apache-2.0

/// The work that remains after observations have ended, and that must be done under no lock.
///
/// `RegistryCore.end` decides under the lock and returns this value. Its caller performs the work
/// outside the lock. The ended observers are linked through themselves, so ending needs no memory.
internal struct DeferredEnds {
    /// Whether an observation has ended.
    private(set) var hasEnded = false

    /// Whether so many entries are dead that the reclamation thread should replace a table.
    private var isUntidy = false

    /// The ended observers, with one reference each, except an observer that the caller itself
    /// ends.
    private var observers = RetiredList()

    /// Whether the observations that the ended observers feed also end: those of paths that begin
    /// here, those behind mailboxes, and those of groups. If the source is gone, these observations
    /// end by themselves, after they have delivered their remaining events. (P12)
    private var endsDependents = false

    /// The ended observers that feed other observations, and those of removals that run at the same
    /// time. Nil if there are none.
    private var feeders: EndedFeeders?

    /// The tables of a source that is gone.
    private var tables = RetiredTables()

    init() {}
}

// The caller of each of these must hold the core's lock.
extension DeferredEnds {
    /// Records that the caller's observer has ended.
    mutating func addOwn(isUntidy: Bool) {
        hasEnded = true
        if isUntidy { self.isUntidy = true }
    }

    /// Adds an observer that has ended, and whose dependents end with it.
    mutating func add(_ observer: Observer, isUntidy: Bool = false) {
        addOwn(isUntidy: isUntidy)
        endsDependents = true
        observers.append(observer.retirement)
    }

    /// Records an observer that is about to be added, if it feeds others.
    mutating func noteFeeder(_ observer: Observer) {
        guard observer.isFeeder else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.add(observer)
    }

    /// Adds the observers that feed others to the list that all removals of the core share, and
    /// takes over those of the other removals.
    mutating func share(in core: RegistryCore) {
        guard feeders != nil || core.endings != nil else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.share(in: core)
    }

    /// Adds a list's table of a source that is gone.
    mutating func addTable(ofGoneSource table: ObserverTable) {
        tables.add(table)
        endsDependents = false
    }
}

// The caller of both must hold no lock.
extension DeferredEnds {
    /// Asks the reclamation thread to replace the tables if too many entries are dead. If the
    /// caller has ended only one observer, it then only has to retire or destroy that observer's
    /// closure.
    func tidy(_ core: RegistryCore) {
        if isUntidy { ThreadRecord.retire(core) }
    }

    /// Retires the ended observers and the tables, and ends the observations that the observers
    /// feed. (P5, P16)
    mutating func perform(in core: RegistryCore) {
        tidy(core)
        tables.retire()
        feeders?.endThoseOfOthers(in: core)
        while let item = observers.popFirst() {
            let observer = Observer.at(item.address)
            observer.reportEnd()
            if endsDependents { core.endDependents(of: observer) } else { observer.sourceIsGone() }
            ThreadRecord.retire(item, isOneOfMany: true)
        }
        feeders?.leave(core)
        if hasEnded { ThreadRecord.pause(for: core.sourceAddress) }
    }
}

/// Observers of one source that a removal has ended, and that feed other observations.
///
/// The removal is complete when the observations that they feed have ended, too. Another removal
/// may come before that, and finds the observers ended. It then ends the observations that they
/// feed itself, so it waits for no thread. (P8)
internal final class EndedFeeders: @unchecked Sendable {
    // Unchecked: `observers` is written before `share(in:)`; the core's lock guards `next`; only
    // this removal uses `others`.
    private var observers: [Observer] = []
    /// The observers that other removals have ended. The observations that these feed may not have
    /// ended yet.
    private var others: [Observer] = []
    /// The next removal in the core's list.
    private var next: EndedFeeders?

    init() {}

    /// Adds an observer. The caller must hold the core's lock.
    func add(_ observer: Observer) { observers.append(observer) }

    /// Adds this removal to the core's list, and takes over the observers of the removals in it.
    /// The caller must hold the core's lock.
    func share(in core: RegistryCore) {
        next = core.endings
        core.endings = self
        var other = next
        while let present = other {
            for observer in present.observers { others.append(observer) }
            other = present.next
        }
    }

    /// Ends the observations that other removals may not have ended yet. The caller must hold no
    /// lock.
    func endThoseOfOthers(in core: RegistryCore) {
        for observer in others { core.endDependents(of: observer) }
    }

    /// Removes this removal from the core's list, after the observations that the observers feed
    /// have ended. The caller must hold no lock.
    func leave(_ core: RegistryCore) {
        core.lock.withLock {
            if core.endings === self {
                core.endings = next
            } else {
                var other = core.endings
                while let present = other, present.next !== self { other = present.next }
                other?.next = next
            }
        }
    }
}

/// Replaced tables, on their way from the lock to their retirement. They are linked through
/// themselves.
internal struct RetiredTables {
    private var list = RetiredList()

    init() {}

    mutating func add(_ table: ObserverTable?) {
        guard let table else { return }
        // Safe: the reference belongs to the list.
        let reference = unsafe Unmanaged<Retirable>.passRetained(table)
        unsafe list.append(RetiredItem(at: UInt(bitPattern: reference.toOpaque())))
    }

    /// Retires the tables. The caller must hold no lock.
    mutating func retire() { while let item = list.popFirst() { ThreadRecord.retire(item.take()) } }
}
