// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserveEtcd

/// A mirror's session with one server.
///
/// Probes share one connection. A list, a summary and a watch each open their own, so that none
/// waits for another. Cancelling one closes its connection.
///
/// Each answer comes from one statement, and so from one snapshot: its position belongs to its
/// keys.
public struct PostgresSession: MirrorSession {
    private let connection: String
    private let prefix: String
    private let limit: Duration
    private let probes: Probes

    init(connection: String, prefix: String, limit: Duration) {
        self.connection = connection
        self.prefix = prefix
        self.limit = limit
        probes = Probes(connection: connection, limit: limit)
    }

    // MARK: - List

    private static let present = """
        SELECT moment.position, moment.history, moment.trimmed,
            keys.key, keys.value, keys.position, keys.created, keys.version
        FROM mirror.moment
        LEFT JOIN (SELECT * FROM mirror.keys WHERE starts_with(key, $1) LIMIT $2) AS keys ON true
        """

    /// Keys that have not changed since have the same state as then. For the other keys, the first
    /// change after the position has the state that it found.
    private static let past = """
        SELECT moment.position, moment.history, moment.trimmed,
            keys.key, keys.value, keys.position, keys.created, keys.version
        FROM mirror.moment
        LEFT JOIN (
            SELECT key, value, position, created, version FROM mirror.keys
            WHERE position <= $3::bigint AND starts_with(key, $1)
            UNION ALL
            SELECT key, old_value, old_position, old_created, old_version FROM (
                SELECT DISTINCT ON (key) * FROM mirror.log
                WHERE position > $3::bigint AND starts_with(key, $1)
                ORDER BY key, position
            ) AS first
            WHERE old_value IS NOT NULL
            LIMIT $2
        ) AS keys ON true
        """

    public func list(
        at revision: Int64?,
        limit maximum: Int,
        page: ([MirrorItem]) throws -> Void
    ) async throws -> MirrorMoment {
        let connection = try await Connection.open(connection, limit: limit)
        let most = String(min(maximum, .max - 1) + 1)
        let rows =
            if let revision {
                try await connection.query(Self.past, [prefix, most, String(revision)])
            } else {
                try await connection.query(Self.present, [prefix, most])
            }
        let moment = try rows.moment()
        if let revision, revision > moment.revision {
            throw MirrorError(.revisionUnknown, "the server is only at \(moment.revision)")
        }
        if let revision, revision < rows.trimmed {
            throw MirrorError(.revisionGone, "the log begins after \(rows.trimmed)")
        }
        // Without a key the row has only the moment.
        if rows.isNull(0, 3) { return moment }
        guard rows.count <= maximum else {
            throw MirrorError(.tooManyKeys, "there are more than the \(maximum) keys that are allowed")
        }
        for begin in stride(from: 0, to: rows.count, by: 1_000) {
            try page((begin..<min(begin + 1_000, rows.count)).map { rows.item($0) })
        }
        return moment
    }

    // MARK: - Watch

    /// The number of positions that a statement reads.
    private static let batch: Int64 = 1_000

    private static let changes = """
        SELECT moment.position, moment.history, moment.trimmed,
            log.key, log.value, log.position, log.created, log.version
        FROM mirror.moment
        LEFT JOIN mirror.log
            ON log.position BETWEEN $2::bigint AND $3::bigint AND starts_with(log.key, $1)
        ORDER BY log.position
        """

    public func watch(
        from revision: Int64,
        receive: @escaping @Sendable (MirrorMessage) async throws -> Void
    ) async throws {
        let connection = try await Connection.open(connection, limit: limit)
        _ = try await connection.query("LISTEN mirror")
        try await receive(.started)
        var next = revision
        var history: UInt64?
        while true {
            // The statement may not see the changes of notifications that come later.
            connection.dropNotifications()
            while true {
                let last = next + Self.batch - 1
                let rows = try await connection.query(Self.changes, [prefix, String(next), String(last)])
                let moment = try rows.moment()
                guard moment.history == history ?? moment.history, moment.revision >= next - 1 else {
                    throw MirrorError(.revisionUnknown, "the server has lost data")
                }
                history = moment.history
                guard rows.trimmed < next else {
                    throw MirrorError(.revisionGone, "the log begins after \(rows.trimmed)")
                }
                try await report(rows, receive)
                let end = min(last, moment.revision)
                if end >= next { try await receive(.complete(upTo: end)) }
                next = end + 1
                if end == moment.revision { break }
            }
            try await connection.waitForNotification()
        }
    }

    /// Reports each position's changes as one message.
    private nonisolated(nonsending) func report(
        _ rows: Rows,
        _ receive: @Sendable (MirrorMessage) async throws -> Void
    ) async throws {
        if rows.isNull(0, 3) { return }
        var items: [MirrorItem] = []
        for row in 0..<rows.count {
            let position = rows.integer(row, 5)
            let item = rows.item(row)
            items.append(item)
            if row + 1 < rows.count, rows.integer(row + 1, 5) == position { continue }
            try await receive(.change(revision: position, items))
            items = []
        }
    }

    // MARK: - Probes

    public func probe() async throws -> MirrorMoment { try await probes.probe() }

    private static let counts = """
        SELECT moment.position, moment.history, moment.trimmed, max(keys.position), count(keys.key)
        FROM mirror.moment
        LEFT JOIN mirror.keys ON starts_with(keys.key, $1)
        GROUP BY moment.position, moment.history, moment.trimmed
        """

    public func summary() async throws -> MirrorSummary {
        let connection = try await Connection.open(connection, limit: limit)
        let rows = try await connection.query(Self.counts, [prefix])
        return MirrorSummary(moment: try rows.moment(), newest: rows.integer(0, 3), count: Int(rows.integer(0, 4)))
    }
}

/// Keeps the connection for probes. If a probe has failed or was cancelled, its connection is
/// dropped.
private actor Probes {
    private let parameters: String
    private let limit: Duration
    private var connection: Connection?

    init(connection: String, limit: Duration) {
        parameters = connection
        self.limit = limit
    }

    func probe() async throws -> MirrorMoment {
        // Another probe that comes in the meantime opens its own connection.
        var used = connection
        connection = nil
        if used == nil { used = try await Connection.open(parameters, limit: limit) }
        let rows = try await used!.query("SELECT position, history, trimmed FROM mirror.moment")
        connection = used
        return try rows.moment()
    }
}

extension Rows {
    /// Reads the first columns of each statement.
    fileprivate func moment() throws -> MirrorMoment {
        guard count > 0 else { throw MirrorError(.protocolViolation, "mirror.state has no row") }
        return MirrorMoment(revision: integer(0, 0), history: UInt64(bitPattern: integer(0, 1)))
    }

    fileprivate var trimmed: Int64 { integer(0, 2) }

    /// Reads a key from the columns 3 to 7.
    fileprivate func item(_ row: Int) -> MirrorItem {
        var counts = MirrorCounts()
        counts.createRevision = integer(row, 6)
        counts.version = integer(row, 7)
        return MirrorItem(
            key: MirrorKey(bytes(row, 3)),
            value: isNull(row, 4) ? nil : bytes(row, 4),
            revision: integer(row, 5),
            counts: counts
        )
    }
}
