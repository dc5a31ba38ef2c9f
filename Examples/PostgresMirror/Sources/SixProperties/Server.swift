// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresMirror

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A PostgreSQL server with data of its own in a temporary folder, which listens only to sockets
/// there. It is a process of an unprivileged user: PostgreSQL refuses to run as root.
final class Server {
    let folder: String
    private let user: [String]
    private var process: Process?

    /// - Parameters:
    ///   - folder: It is made, and must have a short name: the path of a socket may have 107 bytes.
    ///   - mirrors: How many folders there are beside the server's own that lead to its socket.
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

    /// libpq's connection string, through the server's own folder or one that can be taken away.
    func connection(_ mirror: Int? = nil) -> String {
        let name = mirror.map { "mirror\($0)" }
        return "host=\(folder)\(name.map { "/" + $0 } ?? "") user=check dbname=postgres"
            + (name.map { " application_name=\($0)" } ?? "")
    }

    // MARK: - The processes

    nonisolated(nonsending) func start() async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            // Beside what is left of the one before, a server does not start.
            if process?.isRunning != true {
                let log = folder + "/log"
                process = try Self.launch(
                    user + [
                        "postgres", "-D", folder + "/data", "-k", folder, "-c", "listen_addresses=",
                        "-c", "wal_level=logical", "-c", "max_connections=50",
                        // The kernel keeps what a killed process has written.
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
        // The list first: without their parent they end by themselves, but not at once.
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

    /// Repeats a statement until a server that is still falling down or getting up has answered.
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

    /// The output of psql, a client that shares no code with the mirror.
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
