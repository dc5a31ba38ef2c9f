// SPDX-License-Identifier: Apache-2.0

// Some observers are the library's own, and belong to another observation: they feed it. That
// observation counts in their place, and ends when one of them is removed. (P8)

extension Observer {
    /// Has the observations of another core end when this one is removed from its source, and count
    /// in its place: those of a path that begins here, the one behind a mailbox, that of a group.
    func feed(_ dependents: RegistryCore) {
        core.lock.withLock { withExtras { $0.dependents = dependents } }
    }

    /// Has one other observation end when this one is removed from its source, and count in its
    /// place: that of a binding, which has an observer on either side.
    func feed(_ principal: Observer) {
        core.lock.withLock { withExtras { $0.principal = principal } }
    }

    /// Whether the observer feeds another observation. Under the core's lock.
    var isFeeder: Bool {
        guard let extras else { return false }
        return extras.dependents != nil || extras.principal != nil
    }

    /// The core of what the observer feeds, if it feeds anything.
    var dependents: RegistryCore? { core.lock.withLock { extras?.dependents } }

    /// The observation that the observer feeds, if that is one alone.
    private var principal: Observer? { core.lock.withLock { extras?.principal } }

    /// Ends this observation, which has begun, if `feeder` was removed from its source before: a
    /// removal that comes before `feed`, or before this observation has begun, ends nothing but
    /// `feeder`. (P8)
    ///
    /// The death of `feeder`'s source is no removal: those who feed see to it. (P12)
    func endIfRemoved(_ feeder: Observer) {
        // Either this sees the mark, or the removal sees what is fed: the cores' locks order them.
        guard !feeder.isMarkedActive, feeder.knownMark.end != .sourceDeleted else { return }
        end(.cancelled)
    }

    /// Ends what the observer feeds, which has been removed from its source. Under no lock.
    func endFed(_ reason: ObservationEnd) {
        // Most observers feed nothing: no lock is taken for these.
        guard extras != nil else { return }
        principal?.end(reason)
        dependents?.removeAll { _ in reason }
    }
}

// MARK: - Counting

extension Observer {
    /// The observation that counts for a live observer: its own, or the one that it feeds. Nil if
    /// that has ended. Under no lock.
    ///
    /// The fed observation may have ended: the library ends the observer that feeds it afterwards,
    /// when it has destroyed the user's closure. In a forked child it never does if a thread of the
    /// parent was destroying the closure. (P8, P18)
    var counted: Observer? {
        // Most observers feed nothing: no lock is taken for these.
        guard extras != nil else { return self }
        if let principal { return principal.isActive ? principal : nil }
        guard let dependents else { return self }
        return dependents.countedAsFed
    }
}
