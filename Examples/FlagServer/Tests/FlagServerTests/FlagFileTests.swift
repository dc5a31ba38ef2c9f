// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
@testable import Command
@testable import FlagServer
import Foundation
import Hummingbird
import HummingbirdTesting
import Testing

@Suite("Flags in a file", .timeLimit(.minutes(1)))
struct FlagFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flags-\(UUID())")
    private var path: String { folder.appendingPathComponent("flags.json").path }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func service() async -> FlagService {
        var service = quietService()
        await service.follow(file: path, every: .milliseconds(10))
        return service
    }

    /// Writes the file as an editor that replaces it, or as one that does not.
    private func write(_ text: String, atomically: Bool = true) throws {
        try text.write(toFile: path, atomically: atomically, encoding: .utf8)
    }

    /// Waits until the file's flags are refused, with a message that has this text.
    private func waitForError(_ text: String, _ service: FlagService) async throws {
        try await service.source.status.first { status in
            if case .error(let message) = status { message.contains(text) } else { false }
        }
    }

    private func put(_ client: some TestClientProtocol, _ body: String) async throws -> Int {
        try await client.execute(uri: "/flags/dark-mode", method: .put, body: ByteBuffer(string: body)) {
            $0.status.code
        }
    }

    private func source(_ client: some TestClientProtocol) async throws -> String {
        try await client.execute(uri: "/source", method: .get) { String(buffer: $0.body) }
    }

    @Test("A change makes the file, and another server begins with it")
    func kept() async throws {
        try await service().application.test(.live) { client in
            let status = try await put(client, #"{"enabled": true, "rollout": 25}"#)
            #expect(status == 200)
            let state = try await source(client)
            #expect(state.contains(#""source":"file""#) && state.contains(#""state":"ready""#))
        }
        let other = await service()
        #expect(other.flags[.darkMode].value.flag == Flag(isEnabled: true, rollout: 25))
        #expect(other.flags[.maintenance].value.flag == Flag())
        #expect(other.source.hasFlags.value)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["flags.json"])
    }

    @Test(
        "A file that is replaced, or written over, is one commit of what differs; a flag that it does not name is off"
    )
    func replaced() async throws {
        try write(#"{"dark-mode": {"enabled": true}, "maintenance": {"enabled": true}}"#)
        let service = await service()
        #expect(service.flags.snapshot.version == 1)
        try await service.application.test(.live) { client in
            try write(#"{"dark-mode": {"enabled": true}, "bulk-export": {"enabled": true, "rollout": 5}}"#)
            try await service.flags[.bulkExport].first { $0.flag == Flag(isEnabled: true, rollout: 5) }
            #expect(service.flags.snapshot.flags.map(\.version) == [0, 0, 1, 2, 2])
            #expect(!service.flags[.maintenance].value.flag.isEnabled)
            try write("{}", atomically: false)
            try await service.flags[.darkMode].first { !$0.flag.isEnabled }
        }
    }

    @Test(
        "A file that cannot be understood leaves the flags as they are, is not written over, and its error is shown; a good one heals it",
        arguments: [
            ("{", "not JSON"), ("[]", "not an object"), (#"{"nonsense": {"enabled": true}}"#, "the name 'nonsense'"),
            (#"{"dark-mode": {"enabled": true, "rollout": 101}}"#, "'dark-mode.rollout' has no allowed value"),
        ]
    )
    func malformed(text: String, message: String) async throws {
        try write(#"{"dark-mode": {"enabled": true, "rollout": 7}}"#)
        let service = await service()
        try await service.application.test(.live) { client in
            try write(text)
            try await waitForError(message, service)
            let state = try await source(client)
            #expect(state.contains(#""state":"failed""#))
            let refused = try await put(client, #"{"enabled": false}"#)
            #expect(refused == 503)
            #expect(service.flags[.darkMode].value.flag == Flag(isEnabled: true, rollout: 7))
            let kept = try String(contentsOfFile: path, encoding: .utf8)
            #expect(kept == text)
            try FileManager.default.removeItem(atPath: path)
            try await waitForError("not there any more", service)
            #expect(service.flags[.darkMode].value.flag == Flag(isEnabled: true, rollout: 7))
            try write(text)
            try await waitForError(message, service)
            try write(#"{"dark-mode": {"enabled": true, "rollout": 8}}"#)
            try await service.flags[.darkMode].first { $0.flag.rollout == 8 }
            try await service.source.status.first { $0 == .ready }
            let status = try await put(client, #"{"enabled": false}"#)
            #expect(status == 200)
        }
    }

    @Test("A file that was never good gives no flags")
    func neverGood() async throws {
        try write("nonsense")
        let service = await service()
        #expect(!service.source.hasFlags.value)
        #expect(service.source.status.value != .ready)
    }
}
