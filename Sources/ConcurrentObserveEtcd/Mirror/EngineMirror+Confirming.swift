// SPDX-License-Identifier: Apache-2.0

#if Etcd
extension EngineMirror {
    /// Confirms again and again that the contents are current, which makes the mirror ready.
    /// Returns only by throwing.
    ///
    /// - Throws: `MirrorError` of the code `behind` if keys have changed and the watch brings
    ///   nothing; `ListAgain` if the engine has lost its data.
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
                // Observers that take their time are no fault of the watch.
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

    /// Notes the latest instant whose contents are known to be there; nil if no later one than
    /// before is.
    func confirm(_ session: Engine.Session, _ instant: ContinuousClock.Instant?, revisions: Int64) {
        let confirmed = present.modify { present in
            if let instant { present.confirmed = max(present.confirmed ?? instant, instant) }
            return present.confirmed
        }
        // Lists of an engine without history confirm beside the probes.
        lagProperty.modify { lag in
            lag.revisions = revisions
            lag.confirmed = [lag.confirmed, confirmed].compactMap(\.self).max()
        }
        metrics.behindRevisions.set(revisions)
        // A confirmation that is too old proves nothing: the next request asks again.
        guard let instant, instant.duration(to: clock.now) < configuration.longestAge else { return }
        becomeReady(session)
    }

    /// Whether a caller of `waitUntilCurrent` waits for a later confirmation than there is.
    private func isWanted(_ instant: ContinuousClock.Instant?) -> Bool {
        guard let instant else { return false }
        return lag.value.confirmed.map { $0 < instant } ?? true
    }

    private func sleepUnlessWanted(until wake: ContinuousClock.Instant) async throws {
        try? await wait(for: wanted.readOnly, within: clock.now.duration(to: wake), "") { self.isWanted($0) }
        try Task.checkCancellation()
    }

    /// Asks for the engine's newest revision.
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

    /// Asks whether the engine's keys are those of the position, although its newest revision may
    /// be another.
    ///
    /// If no key has a later revision than the position, none was set since. If there are as many
    /// keys as at the position, none was deleted, either.
    func look(_ session: Engine.Session) async throws -> (found: SynchronisationTarget, isCurrent: Bool) {
        let (begin, position) = (clock.now, store.position.value)
        let summary = try await session.summary()
        let found = try target(of: summary.moment, after: position, at: begin)
        let known = store.snapshot
        let isEqual = summary.newest <= known.position && summary.count == known.records.count
        return (found, isPublished(known) && (known.position >= found.revision || isEqual))
    }

    /// Whether the contents show what is known. A revision is known before it is published, and its
    /// observers may take their time.
    private func isPublished(_ known: MirrorStore<Value>.Known) -> Bool { store.position.value >= known.position }

    /// - Throws: `ListAgain` if the moment is one of other data than the mirror's, or of an earlier
    ///   time than the position's.
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
