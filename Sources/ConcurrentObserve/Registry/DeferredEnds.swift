// SPDX-License-Identifier: Apache-2.0

/// What the end of observations leaves to do when no lock is held.
///
/// `RegistryCore.end` decides under the lock and returns this; its caller performs it outside. The
/// ended observers are linked through themselves, so that ending needs no memory.
internal struct DeferredEnds {
    /// Whether an observation has ended.
    private(set) var hasEnded = false

    /// Whether so many entries are dead that the reclamation thread should tidy up.
    private var isUntidy = false

    /// The ended observers, each with a reference, unless the caller has the only one.
    private var observers = RetiredList()

    /// Whether what the ended observations feed ends with them: the observations of paths that
    /// begin here, those behind mailboxes, and those of groups. When the source is gone, they end
    /// by themselves, after what they still have to deliver. (P12)
    private var endsDependents = false

    /// Those of the ended observers that feed others, and those of other removals; nil for none.
    private var feeders: EndedFeeders?

    /// The tables that a source had which is gone.
    private var tables = RetiredTables()

    init() {}
}

// Under the core's lock, all of these.
extension DeferredEnds {
    /// Notes that the caller's observer has ended.
    mutating func addOwn(isUntidy: Bool) {
        hasEnded = true
        if isUntidy { self.isUntidy = true }
    }

    /// Notes that an observer of many has ended, and with it what it feeds.
    mutating func add(_ observer: Observer, isUntidy: Bool = false) {
        addOwn(isUntidy: isUntidy)
        endsDependents = true
        observers.append(observer.retirement)
    }

    /// Notes an observer that is about to be added, if it feeds others.
    mutating func noteFeeder(_ observer: Observer) {
        guard observer.isFeeder else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.add(observer)
    }

    /// Shares with other removals what is left to end, and takes on what they have left.
    mutating func share(in core: RegistryCore) {
        guard feeders != nil || core.endings != nil else { return }
        if feeders == nil { feeders = EndedFeeders() }
        feeders!.share(in: core)
    }

    /// Notes that a list's table is left of a source that is gone.
    mutating func addTable(ofGoneSource table: ObserverTable) {
        tables.add(table)
        endsDependents = false
    }
}

// Under no lock, both.
extension DeferredEnds {
    /// Has the table tidied if it should be. All there is to do for the one observer that the
    /// caller has ended, but for its closure.
    func tidy(_ core: RegistryCore) {
        if isUntidy { ThreadRecord.retire(core) }
    }

    /// Retires the ended observers and the tables; ends what the observers feed. (P5, P16)
    mutating func perform(in core: RegistryCore) {
        tidy(core)
        tables.retire()
        feeders?.endThoseOfOthers(in: core)
        while let item = observers.popFirst() {
            let observer = Observer.at(item.address)
            observer.reportEnd()
            if endsDependents { core.endDependents(of: observer) } else { observer.sourceIsGone() }
            core.retireOneOfMany(item)
        }
        feeders?.leave(core)
        if hasEnded { ThreadRecord.pause(for: core.source) }
    }
}
