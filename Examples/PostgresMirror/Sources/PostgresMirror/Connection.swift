// SPDX-License-Identifier: Apache-2.0

import CLibpq
import ConcurrentObserveEtcd
import Dispatch
import Foundation

/// A connection to a server, for one task at a time. Calls run on the caller's actor. No call
/// blocks its thread, except the lookup of a host's name.
///
/// Every call ends within the limit, or when its task is cancelled. After that the connection
/// cannot be used any more.
@safe package final class Connection {
    // Safe: `deinit` frees it, and nothing but this object has it.
    private let connection: OpaquePointer
    private let limit: Duration

    private static let queue = DispatchQueue(label: "PostgresMirror")

    private enum Readiness { case readable, writable }

    /// Opens a connection.
    ///
    /// - Throws: `MirrorError`, `CancellationError`.
    package nonisolated(nonsending) static func open(
        _ parameters: String,
        limit: Duration
    ) async throws -> Connection {
        // Safe: the call copies the text, and the connection takes over what it returns.
        guard let pointer = unsafe PQconnectStart(parameters) else {
            throw MirrorError(.other, "there is no memory for a connection")
        }
        let connection = unsafe Connection(pointer, limit: limit)
        try await connection.connect()
        return connection
    }

    private init(_ connection: OpaquePointer, limit: Duration) {
        unsafe self.connection = unsafe connection
        self.limit = limit
    }

    // Safe: no call is running, because each call holds this object.
    deinit { unsafe PQfinish(connection) }

    private nonisolated(nonsending) func connect() async throws {
        let deadline = ContinuousClock.now + limit
        // Safe: this object holds the connection.
        if unsafe PQstatus(connection) == CONNECTION_BAD { throw failure }
        // Safe: as above. Without this, remarks of the server would go to the process's standard
        // error.
        _ = unsafe PQsetNoticeReceiver(connection, { _, _ in }, nil)
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            if status == PGRES_POLLING_FAILED { throw failure }
            try await wait(status == PGRES_POLLING_READING ? .readable : .writable, until: deadline)
            // Safe: as above.
            status = unsafe PQconnectPoll(connection)
        }
        // Safe: as above.
        guard unsafe PQsetnonblocking(connection, 1) == 0 else { throw failure }
    }

    // MARK: - Requests

    /// Runs one statement.
    ///
    /// - Parameter parameters: The statement's parameters, as text.
    /// - Throws: `MirrorError`, `CancellationError`.
    package nonisolated(nonsending) func query(_ statement: String, _ parameters: [String] = []) async throws -> Rows {
        // Safe: the copies live until they are freed, after the call that reads them.
        let copies = unsafe parameters.map { unsafe UnsafePointer(strdup($0)) }
        let isSent = unsafe PQsendQueryParams(connection, statement, Int32(copies.count), nil, copies, nil, nil, 1)
        unsafe copies.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) }
        guard isSent == 1 else { throw failure }
        return try await result()
    }

    /// Runs several statements, and discards their results.
    ///
    /// - Throws: `MirrorError`, `CancellationError`.
    package nonisolated(nonsending) func run(_ script: String) async throws {
        // Safe: this object holds the connection, and the call copies the text.
        guard unsafe PQsendQuery(connection, script) == 1 else { throw failure }
        _ = try await result()
    }

    private nonisolated(nonsending) func result() async throws -> Rows {
        let deadline = ContinuousClock.now + limit
        // Safe: this object holds the connection, here and in what follows.
        while unsafe PQflush(connection) == 1 { try await wait(.writable, until: deadline) }
        var rows: Rows?
        var error: MirrorError?
        while true {
            while unsafe PQisBusy(connection) == 1 { try await receive(until: deadline) }
            // Safe: `Rows` takes over the result.
            guard let result = unsafe PQgetResult(connection) else { break }
            rows = unsafe Rows(result)
            error = error ?? rows?.error
        }
        if let error { throw error }
        guard let rows else { throw failure }
        return rows
    }

    // MARK: - Notifications

    /// Waits, without a limit, for a notification that comes, or that has come since the last call.
    package nonisolated(nonsending) func waitForNotification() async throws {
        while !dropNotifications() { try await receive(until: nil) }
    }

    /// Discards the notifications.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    package func dropNotifications() -> Bool {
        var found = false
        // Safe: this object holds the connection, and the caller must free each notification.
        while let notification = unsafe PQnotifies(connection) {
            unsafe PQfreemem(notification)
            found = true
        }
        return found
    }

    // MARK: - Waiting

    private nonisolated(nonsending) func receive(until deadline: ContinuousClock.Instant?) async throws {
        try await wait(.readable, until: deadline)
        // Safe: this object holds the connection.
        guard unsafe PQconsumeInput(connection) == 1 else { throw failure }
    }

    private nonisolated(nonsending) func wait(_ readiness: Readiness, until deadline: ContinuousClock.Instant?)
        async throws
    {
        // Safe: this object holds the connection.
        let socket = unsafe PQsocket(connection)
        guard socket >= 0 else { throw failure }
        // Safe: any thread may use a source.
        nonisolated(unsafe) let source: any DispatchSourceProtocol =
            switch readiness {
            case .readable: DispatchSource.makeReadSource(fileDescriptor: socket, queue: Self.queue)
            case .writable: DispatchSource.makeWriteSource(fileDescriptor: socket, queue: Self.queue)
            }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                unsafe source.setEventHandler { unsafe source.cancel() }
                // Only now may the socket be closed.
                unsafe source.setCancelHandler { continuation.resume() }
                unsafe source.activate()
                guard let deadline else { return }
                let seconds = max(0, ContinuousClock.now.duration(to: deadline) / .seconds(1))
                Self.queue.asyncAfter(deadline: .now() + seconds) { unsafe source.cancel() }
            }
        } onCancel: {
            unsafe source.cancel()
        }
        try Task.checkCancellation()
        if let deadline, deadline <= .now { throw MirrorError(.unreachable, "no answer within \(limit)") }
    }

    /// The error that says what happened to the connection.
    private var failure: MirrorError {
        // Safe: this object holds the connection, and the text is copied.
        let message = unsafe String(cString: PQerrorMessage(connection))
        let isRefused = message.contains("authentication failed") || message.contains("no password supplied")
        return MirrorError(
            isRefused ? .unauthenticated : .unreachable,
            message.trimmingCharacters(in: .whitespacesAndNewlines)
        )
    }
}

/// The rows that a statement has returned, in PostgreSQL's binary format.
@safe package final class Rows {
    // Safe: `deinit` frees it, and nothing but this object has it.
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

    deinit { unsafe PQclear(result) }

    // Safe: this object holds the result, here and in what follows.
    package var count: Int { Int(unsafe PQntuples(result)) }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// Returns the bytes of a `text` or a `bytea`.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8] {
        let count = unsafe Int(PQgetlength(result, Int32(row), Int32(column)))
        // Safe: there are this many bytes, and they are copied.
        return unsafe Array(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: count))
    }

    /// Returns a `bigint`; 0 for null.
    package func integer(_ row: Int, _ column: Int) -> Int64 {
        Int64(bitPattern: bytes(row, column).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The error of the statement; nil if it has not failed.
    var error: MirrorError? {
        let status = unsafe PQresultStatus(result)
        if status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK { return nil }
        // Safe: the texts are copied. 67 is 'C', which stands for the code of the state.
        let code = unsafe PQresultErrorField(result, 67).map { unsafe String(cString: $0) } ?? ""
        let message = unsafe String(cString: PQresultErrorMessage(result))
        return MirrorError(Self.kind(of: code), message.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    private static func kind(of state: String) -> MirrorError.Code {
        switch state {
        // No such schema, table, column, or function.
        case "3F000", "42P01", "42703", "42883": .wrongServer
        case "42501": .permissionDenied
        // The server shuts down, or is in recovery.
        case _ where state.hasPrefix("57") || state.hasPrefix("08") || state == "55000": .unreachable
        default: .other
        }
    }
}
