// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveEtcd
import Foundation
import Logging
import PostgresMirror

/// Breaks a server while clients write, and checks the contents that three mirrors have shown:
/// `six-properties FOLDER TRANSACTIONS`. It makes the folder, and leaves the server running.
@main
struct SixProperties {
    typealias Mirror = EngineMirror<PostgresEngine, String>

    private enum Fault: CaseIterable {
        /// All processes of the server are killed.
        case killed
        /// One process that serves a mirror is killed. The server then restarts the others.
        case killedBackend
        /// Connections are cut, and the server continues.
        case cut
        /// The server stops for longer than a probe may take.
        case stopped
        /// A mirror is cut off while the log is trimmed, so it must list. The others may be behind,
        /// too.
        case trimmed
    }

    nonisolated(nonsending) static func main() async throws {
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = .critical
            return handler
        }
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let transactions = Int(arguments.last!) else {
            print("usage: six-properties FOLDER TRANSACTIONS")
            exit(2)
        }
        let server = try await Server(in: folder, mirrors: 3)
        try await Connection.open(server.connection(), limit: .seconds(30)).run(PostgresEngine.schema)
        _ = try server.psql("SELECT pg_create_logical_replication_slot('judge', 'test_decoding')")

        let mirrors = (0..<3).map { mirror(server.connection($0)) }
        let recorders = mirrors.map(Recorder.init)
        let running = mirrors.map { mirror in Task { try await mirror.run() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(30)) }

        let writers = Writers(server.connection(), tasks: 4)
        var (faults, slowest) = (0, Duration.zero)
        while faults == 0 || writers.count < transactions {
            for fault in Fault.allCases {
                try await bring(fault, server, mirrors, faults)
                let healed = ContinuousClock.now
                for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(30)) }
                slowest = max(slowest, healed.duration(to: .now))
                faults += 1
            }
        }
        let count = await writers.stop()
        let last = try await server.query("SELECT position FROM mirror.state").integer(0, 0)
        for mirror in mirrors { try await mirror.waitUntil(last, within: .seconds(30)) }
        for task in running { task.cancel() }
        for task in running { _ = await task.result }

        let history = try History(server.psql("SELECT data FROM pg_logical_slot_get_changes('judge', NULL, NULL)"))
        print("\(count) transactions, \(history.revisions.count) with changes, to position \(last); \(faults) faults")
        print("shown by each mirror: \(recorders.map(\.count)) changes, \(recorders.map(\.lists)) of them by lists")
        print("the slowest mirror was ready \(slowest) after its server was")
        var violations = recorders.enumerated().flatMap { number, recorder in
            recorder.violations(of: history).map { "mirror \(number): \($0)" }
        }
        let keys = try server.psql("SELECT key, convert_from(value, 'UTF8') FROM mirror.keys ORDER BY key")
        for (number, mirror) in mirrors.enumerated() where shown(mirror) != keys.map(String.init) {
            violations.append("mirror \(number): the last contents are not the table's")
        }
        // The first lists, and those after trims. After all other faults, a mirror resumes.
        let (lists, trims) = (recorders.map(\.lists).reduce(0, +) - mirrors.count, faults / Fault.allCases.count)
        if lists < trims || lists > trims * mirrors.count { violations.append("\(lists) lists for \(trims) trims") }
        if !canFail(recorders[0], history) { violations.append("the check finds no planted fault") }
        for violation in violations.prefix(20) { print(violation) }
        print(violations.isEmpty ? "six properties: ok" : "six properties: \(violations.count) violations")
        exit(violations.isEmpty ? 0 : 1)
    }

    private static func mirror(_ connection: String) -> Mirror {
        var configuration = MirrorConfiguration()
        configuration.requestTimeout = .seconds(3)
        configuration.probeInterval = .milliseconds(250)
        configuration.probeTimeout = .seconds(1)
        configuration.maximumLag = .seconds(2)
        configuration.comparisonInterval = .seconds(1)
        configuration.backoff.first = .milliseconds(20)
        configuration.backoff.longest = .milliseconds(250)
        let engine = PostgresEngine([connection], prefix: "/t/", limit: configuration.requestTimeout)
        return Mirror(following: engine, configuration: configuration, coding: .text)
    }

    private static func shown(_ mirror: Mirror) -> [String] {
        mirror.contents.value.entries.map { "\($0.key) \($0.value.value)" }.sorted()
    }

    private nonisolated(nonsending) static func bring(
        _ fault: Fault,
        _ server: Server,
        _ mirrors: [Mirror],
        _ number: Int
    ) async throws {
        let victim = number % mirrors.count
        switch fault {
        case .killed:
            server.kill()
            try await Task.sleep(for: .milliseconds(300))
            try await server.start()
        case .killedBackend:
            let rows = try await server.query(
                "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = $1",
                ["mirror\(victim)"]
            )
            if rows.count > 0 { kill(Int32(rows.integer(0, 0)), SIGKILL) }
            try await server.start()
        case .cut:
            _ = try await server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mirror%'"
            )
        case .stopped:
            server.send(SIGSTOP)
            try await Task.sleep(for: .milliseconds(1_500))
            server.send(SIGCONT)
        case .trimmed:
            try await server.disconnect(victim)
            let missed = mirrors[victim].position.value + 50
            while try await server.query("SELECT position FROM mirror.state").integer(0, 0) < missed {
                try await Task.sleep(for: .milliseconds(10))
            }
            _ = try await server.query("SELECT mirror.trim(20)")
            try server.connect(victim)
        }
    }

    /// Returns whether a history that differs in one revision is found to differ from the true one.
    private static func canFail(_ recorder: Recorder, _ history: History) -> Bool {
        // A list may cover the difference that was made elsewhere.
        let followed = recorder.followed
        guard let middle = followed.dropFirst(followed.count / 2).first else { return false }
        var (without, other, more) = (history, history, history)
        without.revisions[middle] = nil
        other.revisions[middle] = history.revisions[middle]?.mapValues { _ in "another value" }
        more.revisions[history.revisions.keys.max()! + 1] = ["/t/0": "one more"]
        return [without, other, more].allSatisfy { !recorder.violations(of: $0).isEmpty }
    }
}
