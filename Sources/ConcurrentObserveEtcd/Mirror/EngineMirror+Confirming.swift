// SPDX-License-Identifier: Apache-2.0

#if Etcd
extension EngineMirror {
    /// Repeatedly confirms that the contents are current. The first confirmation makes the mirror
    /// ready. Runs until it throws.
    ///
    /// - Throws: `MirrorError` of the code `behind` if keys have changed, and the watch does not
    ///   deliver the changes. `ListAgain` if the engine has lost its data.
    func stayCurrent(_ session: Engine.Session, from first: SynchronisationTarget) async throws {
        let limit = configuration.maximumLag + (Engine.keepsHistory ? .zero : configuration.usedListGap)
        var lag = LagMachine(limit: limit, position: store.position.value, at: clock.now)
        var pause = Duration.milliseconds(10)
        var current = lag.found(first, position: store.position.value)
        while true {
            confirm(session, current, revisions: lag.revisions)
            if state.value.isReady, !lag.isOverdue(at: clock.now), current != nil || !isWanted(wanted.value) {
                let wake = clock.now + configuration.probeInterval
                try await sleepUnlessWanted(until: min(wake, lag.deadline ?? wake))
                if lag.isOverdue(at: clock.now) { continue }
                current = lag.found(try await probe(session), position: store.position.value)
                pause = .milliseconds(10)
            } else {
                let (found, isCurrent) = try await look(session)
                current = lag.looked(found, isCurrent: isCurrent, position: store.position.value)
                if isCurrent { continue }
                let known = store.snapshot
                // Slow observers are not a fault of the watch.
                if lag.isStalled(at: clock.now), isPublished(known) {
                    let position = known.position
                    throw MirrorError(
                        .behind,
                        "keys have changed after revision \(position), and the watch brings nothing"
                    )
                }
                try await clock.sleep(for: pause)
                pause = min(pause * 2, configuration.probeInterval)
            }
        }
    }

    /// Stores that the contents are confirmed for an instant. Makes the mirror ready if that is
    /// recent.
    ///
    /// - Parameters:
    ///   - instant: The contents are those of this instant, or newer; nil if no later instant than
    ///     before is confirmed.
    ///   - revisions: The number of revisions by which the engine is ahead of the contents.
    func confirm(_ session: Engine.Session, _ instant: ContinuousClock.Instant?, revisions: Int64) {
        let confirmed = present.modify { present in
            if let instant { present.confirmed = max(present.confirmed ?? instant, instant) }
            return present.confirmed
        }
        // If the engine has no history, lists in another task confirm the contents, too.
        lagProperty.modify { lag in
            lag.revisions = revisions
            lag.confirmed = [lag.confirmed, confirmed].compactMap(\.self).max()
        }
        metrics.behindRevisions.set(revisions)
        // An old confirmation does not make the mirror ready. The next request asks again.
        guard let instant, instant.duration(to: clock.now) < configuration.longestAge else { return }
        becomeReady(session)
    }

    /// Whether `instant`, for which a caller of `waitUntilCurrent` waits, is not confirmed yet.
    private func isWanted(_ instant: ContinuousClock.Instant?) -> Bool {
        guard let instant else { return false }
        return lag.value.confirmed.map { $0 < instant } ?? true
    }

    private func sleepUnlessWanted(until wake: ContinuousClock.Instant) async throws {
        try? await wait(for: wanted.readOnly, within: clock.now.duration(to: wake), "") { self.isWanted($0) }
        try Task.checkCancellation()
    }

    /// Asks the engine for its newest revision.
    private func probe(_ session: Engine.Session) async throws -> SynchronisationTarget {
        let (begin, position) = (clock.now, store.position.value)
        let moment = try await withLimit(
            configuration.probeTimeout,
            MirrorError(.unreachable, "a probe was not answered in time")
        ) {
            try await session.probe()
        }
        return try target(of: moment, after: position, at: begin)
    }

    /// Asks whether the engine's keys are still those of the position. The engine's newest revision
    /// may be higher: it may belong to other keys.
    ///
    /// If no key has a later revision than the position, no key was set since. If there are also as
    /// many keys as at the position, no key was deleted.
    func look(_ session: Engine.Session) async throws -> (found: SynchronisationTarget, isCurrent: Bool) {
        let (begin, position) = (clock.now, store.position.value)
        let summary = try await session.summary()
        let found = try target(of: summary.moment, after: position, at: begin)
        let known = store.snapshot
        let isEqual = summary.newest <= known.position && summary.count == known.records.count
        return (found, isPublished(known) && (known.position >= found.revision || isEqual))
    }

    /// Whether the contents show everything that is known. A revision is known before it is
    /// published, and publishing takes as long as its observers.
    private func isPublished(_ known: MirrorStore<Value>.Known) -> Bool { store.position.value >= known.position }

    /// Makes a target from the engine's answer to a request that began at `instant`.
    ///
    /// - Throws: `ListAgain` if the answer belongs to other data than the mirror's, or has a lower
    ///   revision than the position. `MirrorError` if the revision is impossible.
    private func target(
        of moment: MirrorMoment,
        after position: Int64,
        at instant: ContinuousClock.Instant
    ) throws -> SynchronisationTarget {
        try MirrorError.check(moment.revision)
        guard moment.history == store.snapshot.history, moment.revision >= position else {
            noteLoss()
            throw ListAgain.lost
        }
        return SynchronisationTarget(revision: moment.revision, instant: instant)
    }
}
#endif
