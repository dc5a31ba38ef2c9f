// SPDX-License-Identifier: Apache-2.0

import Flags
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

/// A service that logs nothing.
func quietService() -> FlagService {
    FlagService(metrics: TextMetrics(), logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
}

extension TestResponse {
    /// What the body says in JSON.
    func decoded<Content: Decodable>(as type: Content.Type) throws -> Content {
        try JSONDecoder().decode(Content.self, from: Data(buffer: body))
    }
}

@Suite("Routes")
struct RouteTests {
    private struct Answer: Decodable, Equatable {
        var name: String
        var enabled: Bool
        var rollout: Int
        var version: Int
    }

    private struct Mistake: Decodable {
        struct Content: Decodable { let message: String }
        let error: Content
    }

    @Test("A flag that is put is answered with its version, and found there by the next request")
    func put() async throws {
        try await quietService().application().test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true, "rollout": 25}"#)
            let expected = Answer(name: "dark-mode", enabled: true, rollout: 25, version: 1)
            try await client.execute(uri: "/flags/dark-mode", method: .put, body: body) { response in
                #expect(response.status == .ok)
                let answer = try response.decoded(as: Answer.self)
                #expect(answer == expected)
            }
            try await client.execute(uri: "/flags/dark-mode", method: .get) { response in
                let answer = try response.decoded(as: Answer.self)
                #expect(answer == expected)
            }
        }
    }

    @Test("A rollout that is left out is 100")
    func defaultRollout() async throws {
        try await quietService().application().test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true}"#)
            try await client.execute(uri: "/flags/maintenance", method: .put, body: body) { response in
                let answer = try response.decoded(as: Answer.self)
                #expect(answer == Answer(name: "maintenance", enabled: true, rollout: 100, version: 1))
            }
        }
    }

    @Test("All flags are listed")
    func list() async throws {
        struct Listing: Decodable { let flags: [Answer] }
        try await quietService().application().test(.router) { client in
            try await client.execute(uri: "/flags", method: .get) { response in
                let listing = try response.decoded(as: Listing.self)
                #expect(listing.flags.map(\.name) == Flag.Name.allCases.map(\.rawValue))
                #expect(listing.flags.allSatisfy { $0.version == 0 && !$0.enabled })
            }
        }
    }

    static let mistakenBodies: [(body: String, status: HTTPResponse.Status, message: String)] = [
        ("", .badRequest, "not JSON"),
        (#"{"enabled": tru"#, .badRequest, "not JSON"),
        ("[]", .badRequest, "not an object"),
        ("{}", .badRequest, "'enabled' is missing"),
        (#"{"enabled": 1}"#, .badRequest, "'enabled' has the wrong type"),
        (#"{"enabled": true, "rollout": 101}"#, .badRequest, "'rollout' has no allowed value"),
        (#"{"enabled": true, "rollout": -1}"#, .badRequest, "'rollout' has no allowed value"),
        (String(repeating: " ", count: 2_000), .contentTooLarge, "1024 bytes at most"),
    ]

    @Test("A body with a mistake changes nothing, and the answer says in JSON what it is", arguments: mistakenBodies)
    func mistake(body: String, status: HTTPResponse.Status, message: String) async throws {
        let service = quietService()
        try await service.application().test(.router) { client in
            try await client.execute(uri: "/flags/dark-mode", method: .put, body: ByteBuffer(string: body)) {
                response in
                #expect(response.status == status)
                #expect(response.headers[.contentType] == "application/json; charset=utf-8")
                let mistake = try response.decoded(as: Mistake.self)
                #expect(mistake.error.message.contains(message))
            }
        }
        #expect(service.flags[.darkMode].version == 0)
    }

    static let unknownPaths: [(method: HTTPRequest.Method, path: String, message: String)] = [
        (.put, "/flags/nonsense", "no flag has the name 'nonsense'"),
        (.get, "/flags/nonsense", "no flag has the name 'nonsense'"),
        (.delete, "/flags/dark-mode", "nothing is at DELETE /flags/dark-mode"),
        (.get, "/nowhere", "nothing is at GET /nowhere"),
    ]

    @Test("An unknown flag, and an unknown path, are answered 404 in JSON", arguments: unknownPaths)
    func unknown(method: HTTPRequest.Method, path: String, message: String) async throws {
        try await quietService().application().test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true}"#)
            try await client.execute(uri: path, method: method, body: method == .put ? body : nil) { response in
                #expect(response.status == .notFound)
                let mistake = try response.decoded(as: Mistake.self)
                #expect(mistake.error.message.contains(message))
            }
        }
    }

    @Test("The page is served")
    func page() async throws {
        try await quietService().application().test(.router) { client in
            try await client.execute(uri: "/", method: .get) { response in
                #expect(response.headers[.contentType] == "text/html; charset=utf-8")
                #expect(String(buffer: response.body).contains("new EventSource"))
            }
        }
    }
}
