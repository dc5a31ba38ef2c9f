// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation

/// A moment that the contents have to reach before they count as current.
struct SynchronisationTarget: Sendable {
    /// The store's revision.
    let revision: Int64
    /// Not later than when etcd had this revision.
    let instant: ContinuousClock.Instant
}

/// What a comparison of the contents with etcd's has found.
enum Comparison {
    case equal(Etcdserverpb_ResponseHeader)
    case different
    /// etcd no longer has the revision.
    case compacted
    /// etcd does not have the revision yet: its data were lost.
    case lost
}

extension EtcdMirror {
    /// Makes sure that the contents are those of the position, or of a new one.
    func synchronise(_ connection: EtcdConnection) async throws -> SynchronisationTarget {
        let known = store.snapshot
        // With too many keys, the position's never become fewer. Those of a list may be.
        guard known.position > 0, known.records.count <= configuration.maximumKeys else {
            return try await list(connection)
        }
        let begin = ContinuousClock.now
        switch try await compare(connection, known, at: known.position) {
        case .equal(let header):
            return SynchronisationTarget(revision: header.revision, instant: begin)
        case .different:
            logger.error("etcd has other data of the position", metadata: metadata(connection.endpoint))
            metrics.divergences.increment()
        case .lost:
            logger.error("etcd has lost data", metadata: metadata(connection.endpoint))
            metrics.divergences.increment()
        case .compacted:
            logger.notice("etcd has compacted the position", metadata: metadata(connection.endpoint))
        }
        metrics.relists.increment()
        return try await list(connection)
    }

    /// Reads the whole range, and changes the contents to it.
    func list(_ connection: EtcdConnection) async throws -> SynchronisationTarget {
        let begin = ContinuousClock.now
        var listed: [KeyEvent] = []
        let header: Etcdserverpb_ResponseHeader
        do {
            header = try await read(connection, at: 0) { listed += $0 }
        } catch let error as EtcdMirrorError where error.isOfCompaction {
            // Between two pages.
            return try await list(connection)
        }
        let changed = store.applyList(listed, revision: header.revision, clusterID: header.clusterID)
        metrics.lists.increment()
        noteContents()
        logger.debug(
            "listed",
            metadata: ["keys": "\(listed.count)", "changed": "\(changed)", "revision": "\(header.revision)"]
        )
        return SynchronisationTarget(revision: header.revision, instant: begin)
    }

    /// Compares what was known at a position with what etcd has of a revision: 0 for its present one.
    func compare(
        _ connection: EtcdConnection,
        _ known: MirrorStore<Value>.Known,
        at revision: Int64
    ) async throws -> Comparison {
        var equal = 0
        var isDifferent = false
        do {
            let header = try await read(connection, at: revision) { page in
                for event in page {
                    if known.records[event.key] == .init(event) { equal += 1 } else { isDifferent = true }
                }
            }
            let isEqual = !isDifferent && equal == known.records.count && header.clusterID == known.clusterID
            return isEqual ? .equal(header) : .different
        } catch let error as EtcdMirrorError where error.isOfCompaction {
            return .compacted
        } catch let error as EtcdMirrorError where error.isOfFutureRevision {
            return .lost
        }
    }

    /// Reads the range of one revision in pages.
    ///
    /// - Parameter revision: 0 for the present one.
    /// - Returns: The header of the first page.
    private func read(
        _ connection: EtcdConnection,
        at revision: Int64,
        page handle: ([KeyEvent]) -> Void
    ) async throws -> Etcdserverpb_ResponseHeader {
        var request = range.request
        request.revision = revision
        request.limit = Int64(configuration.pageSize)
        var header: Etcdserverpb_ResponseHeader?
        var read = 0
        while true {
            let page: Etcdserverpb_RangeResponse
            do {
                page = try await connection.range(request)
            } catch let error as EtcdMirrorError where error.isOfSize && request.limit > 1 {
                request.limit /= 2
                continue
            }
            read += page.kvs.count
            // Later pages count what is left.
            let count = max(Int(page.count), read)
            guard count <= configuration.maximumKeys else { throw tooManyKeys(count) }
            handle(
                try page.kvs.map { pair in
                    let event = KeyEvent(pair)
                    guard range.contains(event.key) else {
                        throw EtcdMirrorError(.protocolViolation, "the key '\(event.key)' is outside the range")
                    }
                    return event
                }
            )
            let first = header ?? page.header
            header = first
            guard page.more, let last = page.kvs.last else { return first }
            request.key = last.key + [0]
            if request.revision == 0 { request.revision = first.revision }
        }
    }

    func tooManyKeys(_ count: Int) -> EtcdMirrorError {
        EtcdMirrorError(.tooManyKeys, "the range has \(count) keys; \(configuration.maximumKeys) are allowed")
    }
}
#endif
