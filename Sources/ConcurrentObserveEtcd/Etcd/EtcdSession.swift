// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore

/// A connection to one member of etcd. The mirror lists and watches through it.
public struct EtcdSession: MirrorSession {
    let range: EtcdRange
    let connection: EtcdConnection
    /// nil if etcd did not report it.
    let version: ServerVersion?
    let clock: MirrorClock

    /// Lists the keys of the range at one revision, in pages. The first page is read at the given
    /// revision, or at the present one. The other pages are read at the revision of the first.
    public func list(
        at revision: Int64?,
        limit: Int,
        page handle: ([MirrorItem]) throws -> Void
    ) async throws -> MirrorMoment {
        var request = range.request
        request.revision = revision ?? 0
        request.limit = Int64(connection.configuration.pageSize)
        var header: Etcdserverpb_ResponseHeader?
        var read = 0
        var last: MirrorKey?
        while true {
            let page: Etcdserverpb_RangeResponse
            do {
                page = try await connection.range(request)
            } catch let error as MirrorError where error.code == .tooLarge && request.limit > 1 {
                request.limit /= 2
                continue
            }
            // A later page counts only the keys that are left.
            let count = max(Int(page.count), read + page.kvs.count)
            read += page.kvs.count
            guard count <= limit else { throw MirrorError.tooManyKeys(count, allowed: limit) }
            guard page.header.revision > 0, !page.more || !page.kvs.isEmpty else {
                throw MirrorError(.protocolViolation, "a list is without a revision, or without an end")
            }
            let items = page.kvs.map { MirrorItem($0) }
            for item in items {
                guard range.contains(item.key) else {
                    throw MirrorError(.protocolViolation, "the key '\(item.key)' is outside the range")
                }
                guard item.revision > 0, item.revision <= page.header.revision else {
                    throw MirrorError(
                        .protocolViolation,
                        "the key '\(item.key)' of revision \(item.revision) is in a list of revision \(page.header.revision)"
                    )
                }
                // etcd lists keys in ascending order. Pages that start over would never end.
                if let last, !(last < item.key) {
                    throw MirrorError(.protocolViolation, "the key '\(item.key)' is listed after '\(last)'")
                }
                last = item.key
            }
            try handle(items)
            let first = header ?? page.header
            header = first
            guard page.more, let last = page.kvs.last else {
                return MirrorMoment(revision: first.revision, history: first.clusterID)
            }
            request.key = last.key + [0]
            if request.revision == 0 { request.revision = first.revision }
        }
    }

    /// Watches the range, and allows etcd to send a revision in fragments. Asks for progress when
    /// the watch begins, and once in each probe interval. Otherwise the position of a range without
    /// changes would fall behind compaction.
    public func watch(
        from revision: Int64,
        receive: @escaping @Sendable (MirrorMessage) async throws -> Void
    ) async throws {
        let configuration = connection.configuration
        let machine = Shared(
            WatchMachine(
                range: range,
                position: revision - 1,
                trustsProgressAnswers: version?.ordersProgressAnswers ?? false,
                maximumBytes: configuration.maximumMessageBytes
            )
        )
        let first = range.watch(from: machine.withLock { $0.startRevision })
        try await connection.watch { writer in
            try await writer.write(first)
            try await writer.write(.progress)
            while true {
                try await clock.sleep(for: configuration.probeInterval)
                try await writer.write(.progress)
            }
        } receive: { [connection] message in
            if message.isFragment { connection.metrics.fragments.increment() }
            for output in try machine.withLock({ try $0.receive(message) }) { try await receive(output) }
        }
    }

    /// Returns etcd's newest revision, and the ID of the cluster. It reads one key for this. The
    /// read is linearizable, so it needs a quorum.
    public func probe() async throws -> MirrorMoment {
        var request = EtcdRange.key(range.start).request
        request.keysOnly = true
        let header = try await connection.range(request).header
        return MirrorMoment(revision: header.revision, history: header.clusterID)
    }

    /// Returns the newest revision of the range's keys, and their number. The read is linearizable.
    /// etcd reads and sorts the whole range for it, and sends one key.
    public func summary() async throws -> MirrorSummary {
        var request = range.request
        request.limit = 1
        request.keysOnly = true
        request.sortTarget = .mod
        request.sortOrder = .descend
        let answer = try await connection.range(request)
        return MirrorSummary(
            moment: MirrorMoment(revision: answer.header.revision, history: answer.header.clusterID),
            newest: answer.kvs.first?.modRevision ?? 0,
            count: Int(answer.count)
        )
    }
}
#endif
