// SPDX-License-Identifier: Apache-2.0

import PostgresMirror
import Synchronization

/// Several clients that make transactions of one to three keys each until they are stopped.
final class Writers: Sendable {
    private let acknowledged = Mutex(0)
    private let isStopped = Mutex(false)
    private let tasks: Mutex<[Task<Void, Never>]> = Mutex([])

    init(_ connection: String, tasks: Int) {
        self.tasks.withLock { running in
            running = (0..<tasks).map { number in Task { await self.write(connection, number) } }
        }
    }

    /// The number of transactions that the server has acknowledged.
    var count: Int { acknowledged.withLock { $0 } }

    private func write(_ parameters: String, _ number: Int) async {
        var value = 0
        while !isStopped.withLock({ $0 }) {
            do {
                let connection = try await Connection.open(parameters, limit: .seconds(5))
                while !isStopped.withLock({ $0 }) {
                    value += 1
                    try await connection.run(Self.transaction("\(number).\(value)"))
                    acknowledged.withLock { $0 += 1 }
                    try await Task.sleep(for: .milliseconds(2))
                }
            } catch {
                // The transaction may have been made or not. The server's log shows that.
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private static func transaction(_ value: String) -> String {
        let statements = (0..<Int.random(in: 1...3)).map { index in
            let key = "/t/\(Int.random(in: 0..<30))"
            return Int.random(in: 0..<5) == 0
                ? "DELETE FROM mirror.keys WHERE key = '\(key)';"
                : """
                INSERT INTO mirror.keys (key, value) VALUES ('\(key)', '\(value)/\(index)')
                ON CONFLICT (key) DO UPDATE SET value = excluded.value;
                """
        }
        return "BEGIN; \(statements.joined(separator: " ")) COMMIT;"
    }

    /// Waits for the transactions that are running: a transaction without a client could be
    /// committed later.
    func stop() async -> Int {
        isStopped.withLock { $0 = true }
        for task in tasks.withLock({ $0 }) { await task.value }
        return count
    }
}
