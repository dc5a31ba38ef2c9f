// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveEtcd
import PostgresMirror

/// Prints each change of `mirror.keys`: `follow CONNECTION [PREFIX]`.
@main
struct Follow {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let connection = arguments.first else {
            print("usage: follow CONNECTION [PREFIX]")
            return
        }
        let engine = PostgresEngine([connection], prefix: arguments.dropFirst().first ?? "")
        let mirror = EngineMirror<PostgresEngine, String>(following: engine, coding: .text)
        let token = mirror.contents.observe { change in
            let entries = change.new.entries.map { "\($0.key)=\($0.value.value)" }.sorted()
            print("\(change.new.revision): \(entries.joined(separator: " "))")
        }
        try await mirror.run()
        token.cancel()
    }
}
