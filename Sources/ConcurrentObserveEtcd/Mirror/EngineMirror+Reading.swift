// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The result of comparing the contents with the engine's keys.
enum Comparison {
    case equal(MirrorMoment)
    case different
    /// The engine no longer has the revision.
    case gone
    /// The engine has not had the revision yet: it has lost data.
    case lost
}

extension EngineMirror {
    /// Brings the contents to a revision that the engine has. If the engine has the same data at
    /// the position, this is the position. Otherwise it is the revision of a new list.
    func synchronise(_ session: Engine.Session) async throws -> SynchronisationTarget {
        // Without history, the mirror cannot resume.
        if !Engine.keepsHistory { return try await listPresent(session) }
        let known = store.snapshot
        // The last watch delivered no changes, and this one may do the same. Only a list surely
        // finds them.
        if present.modify({ $0.mustList }) {
            metrics.relists.increment()
            return try await list(session)
        }
        // If there are too many keys at the position, resuming there does not help. A list may find
        // fewer.
        guard known.position > 0, known.records.count <= configuration.maximumKeys else {
            return try await list(session)
        }
        let begin = clock.now
        switch try await compare(session, known, at: known.position) {
        case .equal(let moment):
            return SynchronisationTarget(revision: moment.revision, instant: begin)
        case .different:
            logger.error("the engine has other data of the position", metadata: metadata)
            metrics.divergences.increment()
        case .lost:
            noteLoss()
        case .gone:
            logger.notice("the engine no longer has the position", metadata: metadata)
        }
        metrics.relists.increment()
        return try await list(session)
    }

    /// Lists all keys, and changes the contents to them.
    ///
    /// - Throws: `MirrorError`. Its code is `revisionGone` if the engine drops the revision between
    ///   two pages, in two attempts.
    func list(_ session: Engine.Session) async throws -> SynchronisationTarget {
        var begin = clock.now
        var listed: [MirrorItem] = []
        let moment: MirrorMoment
        do {
            moment = try await session.list(at: nil, limit: configuration.maximumKeys) { listed += $0 }
        } catch let error as MirrorError where error.code == .revisionGone {
            (begin, listed) = (clock.now, [])
            moment = try await session.list(at: nil, limit: configuration.maximumKeys) { listed += $0 }
        }
        try MirrorError.check(moment.revision)
        guard listed.count <= configuration.maximumKeys else { throw tooManyKeys(listed.count) }
        let (changed, malformed) = store.applyList(listed, of: moment)
        let now = clock.now
        present.modify { present in
            present.mustList = false
            present.listed = now
        }
        noteMalformed(malformed)
        metrics.lists.increment()
        noteContents()
        logger.debug(
            "listed",
            metadata: ["keys": "\(listed.count)", "changed": "\(changed)", "revision": "\(moment.revision)"]
        )
        return SynchronisationTarget(revision: moment.revision, instant: begin)
    }

    /// Compares the keys that were known at a position with the engine's keys at `revision`, or
    /// with its present keys if `revision` is nil.
    func compare(
        _ session: Engine.Session,
        _ known: MirrorStore<Value>.Known,
        at revision: Int64?
    ) async throws -> Comparison {
        var equal = 0
        var isDifferent = false
        do {
            let moment = try await session.list(at: revision, limit: configuration.maximumKeys) { page in
                for item in page {
                    if known.records[item.key] == .init(item) { equal += 1 } else { isDifferent = true }
                }
            }
            let isEqual = !isDifferent && equal == known.records.count && moment.history == known.history
            return isEqual ? .equal(moment) : .different
        } catch let error as MirrorError where error.code == .revisionGone {
            return .gone
        } catch let error as MirrorError where error.code == .revisionUnknown {
            return .lost
        }
    }

    func noteDifference() {
        logger.error("the contents are not what the engine has", metadata: metadata)
        metrics.divergences.increment()
    }

    func noteLoss() {
        logger.error("the engine has lost data", metadata: metadata)
        metrics.divergences.increment()
    }

    func tooManyKeys(_ count: Int) -> MirrorError { .tooManyKeys(count, allowed: configuration.maximumKeys) }
}

extension MirrorError {
    /// Checks a revision that the engine reports.
    ///
    /// - Throws: `MirrorError` if the revision is negative, or if none can follow it.
    static func check(_ revision: Int64) throws {
        guard revision >= 0, revision < .max else {
            throw MirrorError(.protocolViolation, "the engine reports the revision \(revision)")
        }
    }

    static func tooManyKeys(_ count: Int, allowed: Int) -> MirrorError {
        MirrorError(.tooManyKeys, "there are \(count) keys; \(allowed) are allowed")
    }
}
#endif
