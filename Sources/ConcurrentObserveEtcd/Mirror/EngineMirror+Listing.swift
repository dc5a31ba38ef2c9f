// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The lists of a mirror whose engine keeps no history. The mirror lists when a watch ends, because
/// that is the signal that keys have changed. The session continues, and the mirror stays ready.
extension EngineMirror {
    /// Lists after a signal. The list also confirms that the contents are current.
    ///
    /// - Returns: The revision of the list, which is the new position.
    func listChanges(_ session: Engine.Session) async throws -> Int64 {
        while true {
            if let listed = present.value.listed {
                try await clock.sleep(until: listed + configuration.usedListGap)
            }
            do {
                let target = try await listPresent(session)
                confirm(session, target.instant, revisions: 0)
                return target.revision
            } catch let error as MirrorError where error.code == .revisionGone {
                // Keys have changed between two pages. That counts as a signal, too.
                let now = clock.now
                present.modify { $0.listed = now }
            }
        }
    }

    /// Lists the keys, and reports a loss if the engine has lost data. Without history, no
    /// comparison at the position could find the loss.
    func listPresent(_ session: Engine.Session) async throws -> SynchronisationTarget {
        let before = store.snapshot
        let target = try await list(session)
        let isLost = store.snapshot.history != before.history || target.revision < before.position
        if isLost, before.position > 0 { noteLoss() }
        return target
    }

    /// Compares the contents with the engine's present keys. If they differ, a signal may be on its
    /// way, so only a difference that lasts counts as a fault.
    ///
    /// - Throws: `ListAgain` if the difference lasts.
    func compareWithPresent(_ session: Engine.Session) async throws {
        let known = store.snapshot
        switch try await compare(session, known, at: nil) {
        case .equal: metrics.comparisons.increment()
        case .gone: return
        case .different, .lost:
            let time = min(configuration.maximumLag, configuration.comparisonInterval / 2)
            try await clock.sleep(for: time + configuration.usedListGap)
            guard store.snapshot.position == known.position,
                case .different = try await compare(session, known, at: nil),
                store.snapshot.position == known.position
            else { return }
            noteDifference()
            throw ListAgain.different
        }
    }
}
#endif
