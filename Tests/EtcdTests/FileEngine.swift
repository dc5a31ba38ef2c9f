// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserveEtcd
import Foundation

/// The engine of the article "Mirror another engine", which quotes it.
struct FileEngine: MirrorEngine {
    static let name = "file"
    static let keepsHistory = false
    let path: String
    var clock: any Clock<Duration> = ContinuousClock()

    func servers() -> [String] { [path] }

    func withSession(at path: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        try await body(Session(path: path, clock: clock))
    }

    struct Session: MirrorSession {
        let path: String
        let clock: any Clock<Duration>

        func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment {
            let (number, items) = try parse(path)
            try page(items)
            return MirrorMoment(revision: number)
        }

        func watch(from next: Int64, receive: @escaping @Sendable (MirrorMessage) async throws -> Void) async throws {
            try await receive(.started)
            while try parse(path).0 < next { try await clock.sleep(for: .seconds(1)) }
            throw MirrorError(.revisionGone, "there is another file")
        }

        func probe() async throws -> MirrorMoment { MirrorMoment(revision: try parse(path).0) }
    }
}

/// Reads a line with the number, then lines with a key, a space, and its value.
private func parse(_ path: String) throws -> (Int64, [MirrorItem]) {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw MirrorError(.unreachable, "there is no file")
    }
    let lines = text.split(separator: "\n")
    guard let number = lines.first.flatMap({ Int64($0) }) else {
        throw MirrorError(.protocolViolation, "the file does not begin with a number")
    }
    let items = try lines.dropFirst().map { line in
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { throw MirrorError(.protocolViolation, "'\(line)' is no key with a value") }
        return MirrorItem(key: MirrorKey(String(parts[0])), value: Array(parts[1].utf8), revision: number)
    }
    return (number, items)
}
#endif
