// SPDX-License-Identifier: Apache-2.0

/// The work that remains after observations have ended. It must be done under no lock.
///
/// `RegistryCore.end` decides under the lock and returns this value. Its caller performs the work
/// outside the lock. Each ended observer has the link to the next one, so ending needs no memory.
///
/// An observer *feeds* an observation of another source if it passes events on to that observation:
/// see `Observer.feed`. The fed observation depends on the observer, and ends when the observer is
/// removed.
internal struct DeferredEnds {
    /// Whether an observation has ended.
    private(set) var hasEnded = false

    /// Whether the observations of so many entries have ended that the reclamation thread should
    /// replace a table.
    private var isUntidy = false

    /// The ended observers, with one reference each. If `RegistryCore.end` has ended a single
    /// observer, the list is empty, because the caller retires that observer itself.
    private var observers = RetiredList()

    /// Whether the observations that the ended observers feed also end. These are observations of
    /// groups, observations of paths that begin at this source, and observations behind mailboxes.
    /// If the source is gone, they end by themselves, after they have delivered their remaining
    /// events. (P12)
    private var endsDependents = false

    /// The ended observers that feed other observations, and those that concurrent removals have
    /// ended. Nil if there are none.
    private var feeders: EndedFeeders?

    /// The tables of a source that is gone.
    private var tables = RetiredTables()

    init() {}
}

// The caller of each of these must hold the core's lock.
extension DeferredEnds {
    /// Records that an observation has ended. The caller retires its observer itself, or adds it to
    /// `observers`.
    ///
    /// - Parameter isUntidy: Whether the reclamation thread should now replace the observer's
    ///   table.
    mutating func addOwn(isUntidy: Bool) {
        hasEnded = true
        if isUntidy { self.isUntidy = true }
    }

    /// Adds an observer whose observation has ended. The observations that it feeds end, too.
    ///
    /// - Parameter isUntidy: Whether the reclamation thread should now replace the observer's
    ///   table.
    mutating func add(_ observer: Observer, isUntidy: Bool = false) {
        addOwn(isUntidy: isUntidy)
        endsDependents = true
        observers.append(observer.retirement)
    }

    /// Records an observer if other observations depend on it. The caller adds the observer
    /// afterwards.
    mutating func noteFeeder(_ observer: Observer) {
        guard observer.isFeeder else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.add(observer)
    }

    /// Adds the recorded feeders to the list that all removals of the core share, and takes over
    /// the feeders of the other removals.
    mutating func share(in core: RegistryCore) {
        guard feeders != nil || core.endings != nil else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.share(in: core)
    }

    /// Adds a table of a source that is gone. The observations that its observers feed then end by
    /// themselves.
    mutating func addTable(ofGoneSource table: ObserverTable) {
        tables.add(table)
        endsDependents = false
    }
}

// The caller of both must hold no lock.
extension DeferredEnds {
    /// Asks the reclamation thread to replace the tables if the observations of too many entries
    /// have ended. A caller that has ended a single observer calls this instead of `perform(in:)`.
    func tidy(_ core: RegistryCore) {
        if isUntidy { ThreadRecord.retire(core) }
    }

    /// Retires the ended observers and the tables, and ends the observations that the observers
    /// feed. May pause the thread until the reclamation catches up. (P5, P16)
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

/// The observers of one source that a removal has ended, and that feed other observations. A
/// *removal* is a call that ends several observations of a source.
///
/// The removal is complete when the observations that these observers feed have ended, too. If
/// another removal comes before that, it finds the observers ended already. It then ends the fed
/// observations itself, so it need not wait for the first removal. (P8)
internal final class EndedFeeders: @unchecked Sendable {
    // Unchecked: `observers` is written before `share(in:)`; the core's lock guards `next`; only
    // this removal uses `others`.
    private var observers: [Observer] = []
    /// The observers that other removals have ended. The observations that they feed may not have
    /// ended yet.
    private var others: [Observer] = []
    /// The next removal in the core's list.
    private var next: EndedFeeders?

    init() {}

    /// Adds an observer that feeds others. The caller must hold the core's lock.
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

    /// Ends the observations that are fed by the observers of other removals, because those
    /// removals may not have ended them yet. The caller must hold no lock.
    func endThoseOfOthers(in core: RegistryCore) {
        for observer in others { core.endDependents(of: observer) }
    }

    /// Takes this removal out of the core's list, after the observations that its observers feed
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

/// Replaced tables that wait to be retired after the unlock. Each table has the link to the next
/// one, so the list needs no memory.
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
