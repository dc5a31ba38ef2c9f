// SPDX-License-Identifier: Apache-2.0

// Some observers are made by the library, and *feed* an observation that the user has made: they
// pass events on to it. An observer is *removed* when a call, such as `cancelAllObservations()`,
// ends the observations of its source. A source counts the fed observation, and not the observers
// that feed it. The fed observation ends when one of these observers is removed. (P8)

extension Observer {
    /// Makes this observer feed the observations of another core. These observations end when this
    /// observer is removed from its source. The source counts them, and not this observer.
    ///
    /// Use it if all observations of that core are fed: the observations of a path that begins at
    /// this source, the observations of a group, or the observation behind a mailbox.
    func feed(_ dependents: RegistryCore) {
        core.lock.withLock { withExtrasLocked { $0.dependents = dependents } }
    }

    /// Makes this observer feed `principal`, one other observation. That observation ends when this
    /// observer is removed from its source. The source counts that observation, and not this
    /// observer.
    ///
    /// Use it if the core of the fed observation has observations that are not fed, too. A two-way
    /// binding is an example: its observation is one of the left property's observations, and is
    /// fed by the binding's observer of the right property.
    func feed(_ principal: Observer) {
        core.lock.withLock { withExtrasLocked { $0.principal = principal } }
    }

    /// Whether the observer feeds another observation. The caller must hold the core's lock.
    var isFeeder: Bool {
        guard let extras else { return false }
        return extras.dependents != nil || extras.principal != nil
    }

    /// The core whose observations the observer feeds. Nil if the observer feeds nothing, or only
    /// one observation: see `principal`.
    var dependents: RegistryCore? { core.lock.withLock { extras?.dependents } }

    /// The observation that the observer feeds, if `feed` was called with one observation.
    private var principal: Observer? { core.lock.withLock { extras?.principal } }

    /// Ends this observation if `feeder` was removed from its source already. Call it after `feed`,
    /// and after this observation has begun: a removal that came before that has ended only
    /// `feeder`. (P8)
    ///
    /// If the source of `feeder` has ended, this is not a removal: the fed observation handles the
    /// end of the source itself. (P12)
    func endIfRemoved(_ feeder: Observer) {
        // Either this thread sees the mark, or the removal sees the connection: the cores' locks
        // order them.
        guard !feeder.isMarkedActive, feeder.knownMark.end != .sourceDeleted else { return }
        end(.cancelled)
    }

    /// Ends the observations that the observer feeds, after it was removed from its source. The
    /// caller must hold no lock.
    func endFed(_ reason: ObservationEnd) {
        // Most observers feed none, and take no lock.
        guard extras != nil else { return }
        principal?.end(reason)
        dependents?.removeAll { _ in reason }
    }
}

// MARK: - Counting

extension Observer {
    /// The observation that the source counts for this observer, which must be live. If the
    /// observer feeds another observation, this is the fed observation, or nil if that has ended.
    /// Otherwise it is the observer's own observation. The caller must hold no lock.
    ///
    /// The fed observation may have ended before the observer that feeds it: the library ends the
    /// observer later, when it has destroyed the user's closure. (P8)
    var counted: Observer? {
        // Most observers feed none, and take no lock.
        guard extras != nil else { return self }
        if let principal { return principal.isActive ? principal : nil }
        guard let dependents else { return self }
        return dependents.countedAsFed
    }
}
