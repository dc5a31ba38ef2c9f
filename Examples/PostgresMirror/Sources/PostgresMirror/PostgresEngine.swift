// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserveEtcd

/// The keys of the table `mirror.keys`, which `schema.sql` makes.
///
/// ```swift
/// let database = "host=db.example dbname=flags target_session_attrs=primary"
/// let engine = PostgresEngine([database], prefix: "/flags/")
/// let mirror = EngineMirror<PostgresEngine, Flag>(following: engine, coding: .json)
/// ```
public struct PostgresEngine: MirrorEngine {
    public static let name = "postgres"

    private let connections: [String]
    private let prefix: String
    private let limit: Duration

    /// Makes an engine.
    ///
    /// - Parameters:
    ///   - connections: libpq's connection strings, one for each server that may be asked.
    ///   - prefix: Only keys that begin with it are read.
    ///   - limit: The longest time of a request.
    public init(_ connections: [String], prefix: String = "", limit: Duration = .seconds(5)) {
        self.connections = connections
        self.prefix = prefix
        self.limit = limit
    }

    /// The statements that make the tables, once per database.
    public static var schema: String { String(decoding: PackageResources.schema_sql, as: UTF8.self) }

    /// One of the servers. Its description is its number, because a connection string may have a
    /// password.
    public struct Server: Sendable, CustomStringConvertible {
        let number: Int
        let connection: String

        public var description: String { "server \(number)" }
    }

    public func servers() -> [Server] {
        connections.enumerated().map { Server(number: $0 + 1, connection: $1) }
    }

    public func withSession(
        at server: Server,
        _ body: @escaping @Sendable (PostgresSession) async throws -> Void
    ) async throws {
        let session = PostgresSession(connection: server.connection, prefix: prefix, limit: limit)
        // If the server is not there, the session ends before a list must wait for it.
        _ = try await session.probe()
        try await body(session)
    }
}
