// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresMirror

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A PostgreSQL server with its own data in a temporary folder. It listens only to sockets there.
/// Its process belongs to an unprivileged user, because PostgreSQL refuses to run as root.
final class Server {
    let folder: String
    private let user: [String]
    private var process: Process?

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - folder: The folder that is made. Its name must be short: the path of a socket may have
    ///     107 bytes.
    ///   - mirrors: The number of folders, in addition to the server's own, that lead to its
    ///     socket.
    nonisolated(nonsending) init(in folder: String, mirrors: Int) async throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if geteuid() == 0 {
            // The system's user without rights.
            _ = try Self.output(["chown", "65534:65534", folder])
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        } else {
            user = []
        }
        _ = try Self.output(
            user + ["initdb", "-D", folder + "/data", "-U", "check", "-A", "trust", "-E", "UTF8", "--no-sync"]
        )
        try await start()
        for mirror in 0..<mirrors { try connect(mirror) }
    }

    /// Returns libpq's connection string, through the server's own folder or through one that can
    /// be removed.
    func connection(_ mirror: Int? = nil) -> String {
        let name = mirror.map { "mirror\($0)" }
        return "host=\(folder)\(name.map { "/" + $0 } ?? "") user=check dbname=postgres"
            + (name.map { " application_name=\($0)" } ?? "")
    }

    // MARK: - The processes

    nonisolated(nonsending) func start() async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            // A server does not start while processes of the previous one are left.
            if process?.isRunning != true {
                let log = folder + "/log"
                process = try Self.launch(
                    user + [
                        "postgres", "-D", folder + "/data", "-k", folder, "-c", "listen_addresses=",
                        "-c", "wal_level=logical", "-c", "max_connections=50",
                        // The kernel keeps the data that a killed process has written.
                        "-c", "fsync=off",
                    ],
                    log: log
                )
            }
            if (try? await Connection.open(connection(), limit: .seconds(1))) != nil { return }
            try await Task.sleep(for: .milliseconds(20))
        } while .now < deadline
        let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
        throw Failure("the server does not start: \(log.suffix(2_000))")
    }

    /// Sends SIGKILL to the server and to all of its processes.
    func kill() {
        send(SIGKILL)
        process?.waitUntilExit()
        process = nil
    }

    func send(_ signal: Int32) {
        guard let process, process.isRunning else { return }
        // The list is made first: without their parent the processes end by themselves, but not at
        // once.
        let all = [process.processIdentifier] + children
        for identifier in all { Foundation.kill(identifier, signal) }
    }

    private var children: [Int32] {
        guard let process else { return [] }
        let parent = process.processIdentifier
        let text = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
        return (text ?? "").split(separator: " ").compactMap { Int32($0) }
    }

    // MARK: - A mirror's way to it

    func connect(_ mirror: Int) throws {
        try FileManager.default.createSymbolicLink(atPath: folder + "/mirror\(mirror)", withDestinationPath: folder)
    }

    nonisolated(nonsending) func disconnect(_ mirror: Int) async throws {
        try FileManager.default.removeItem(atPath: folder + "/mirror\(mirror)")
        _ = try await query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
            ["mirror\(mirror)"]
        )
    }

    // MARK: - Statements

    /// Repeats a statement until the server has answered, which may be stopping or starting.
    nonisolated(nonsending) func query(_ statement: String, _ parameters: [String] = []) async throws -> Rows {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                return try await Connection.open(connection(), limit: .seconds(30)).query(statement, parameters)
            } catch {
                if deadline < .now { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Returns the output of psql, a client that shares no code with the mirror.
    func psql(_ statement: String) throws -> [Substring] {
        try Self.output(["psql", "-X", "-A", "-t", "-F", " ", "-d", connection(), "-c", statement])
            .split(separator: "\n")
    }

    private static func launch(_ command: [String], log: String) throws -> Process {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = process.standardOutput
        try process.run()
        return process
    }

    private static func output(_ command: [String]) throws -> String {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("\(command[0]) has failed") }
        return String(decoding: data, as: UTF8.self)
    }
}
