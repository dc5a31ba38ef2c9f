// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
@testable import FlagServer
import Foundation
import HTTPEdge
import Hummingbird
import HummingbirdTesting
import Logging
import Synchronization
import Testing

/// Makes a service that logs nothing.
func quietService() -> FlagService {
    let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    return FlagService(Edge(metrics: TextMetrics(), logger: logger))
}

extension TestResponse {
    /// Decodes the body, which is JSON.
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
        try await quietService().application.test(.router) { client in
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
        try await quietService().application.test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true}"#)
            try await client.execute(uri: "/flags/maintenance", method: .put, body: body) { response in
                let answer = try response.decoded(as: Answer.self)
                #expect(answer == Answer(name: "maintenance", enabled: true, rollout: 100, version: 1))
            }
        }
    }

    private struct Listing: Decodable {
        let version: Int
        let flags: [Answer]
        let derived: [ReceivedDerived]
    }

    @Test("All flags are listed, and the derived one")
    func list() async throws {
        try await quietService().application.test(.router) { client in
            try await client.execute(uri: "/flags", method: .get) { response in
                let listing = try response.decoded(as: Listing.self)
                #expect(listing.flags.map(\.name) == Flag.Name.allCases.map(\.rawValue))
                #expect(listing.flags.allSatisfy { $0.version == 0 && !$0.enabled })
                #expect(listing.derived == [ReceivedDerived(name: "checkout-open", enabled: false)])
            }
        }
    }

    @Test("A request that changes several flags is one commit")
    func patch() async throws {
        let service = quietService()
        // Notified on the thread that commits, once for each commit.
        let received = Mutex<[[UInt64]]>([])
        let token = service.flags.all.observe { change in received.withLock { $0.append(change.new.map(\.version)) } }
        try await service.application.test(.router) { client in
            let flags = #"{"new-checkout": {"enabled": true}, "dark-mode": {"enabled": true, "rollout": 5}}"#
            let body = ByteBuffer(string: flags)
            try await client.execute(uri: "/flags", method: .patch, body: body) { response in
                #expect(response.status == .ok)
                let listing = try response.decoded(as: Listing.self)
                #expect(listing.version == 1)
                #expect(listing.flags.map(\.version) == [1, 0, 1, 0, 0])
                #expect(listing.flags.map(\.rollout) == [100, 100, 5, 100, 100])
                #expect(listing.derived == [ReceivedDerived(name: "checkout-open", enabled: true)])
            }
        }
        token.cancel()
        #expect(received.withLock { $0 } == [[1, 0, 1, 0, 0]])
    }

    static let mistakenChanges: [(body: String, status: HTTPResponse.Status, message: String)] = [
        ("{}", .badRequest, "names no flag"),
        ("[]", .badRequest, "not an object"),
        (#"{"dark-mode": {"enabled": true}, "nonsense": {"enabled": true}}"#, .notFound, "the name 'nonsense'"),
        (#"{"dark-mode": {"enabled": true}, "maintenance": {}}"#, .badRequest, "'maintenance.enabled' is missing"),
        (#"{"dark-mode": {"enabled": true}, "maintenance": 1}"#, .badRequest, "'maintenance' has the wrong type"),
        (
            #"{"dark-mode": {"enabled": true}, "maintenance": {"enabled": true, "rollout": 101}}"#, .badRequest,
            "'maintenance.rollout' has no allowed value"
        ),
    ]

    @Test("A mistake in one of several flags changes none of them", arguments: mistakenChanges)
    func mistakenPatch(body: String, status: HTTPResponse.Status, message: String) async throws {
        let service = quietService()
        try await service.application.test(.router) { client in
            try await client.execute(uri: "/flags", method: .patch, body: ByteBuffer(string: body)) { response in
                #expect(response.status == status)
                let mistake = try response.decoded(as: Mistake.self)
                #expect(mistake.error.message.contains(message))
            }
        }
        #expect(service.flags.snapshot.version == 0)
    }

    static let mistakenBodies: [(body: String, status: HTTPResponse.Status, message: String)] = [
        ("", .badRequest, "not JSON"),
        (#"{"enabled": tru"#, .badRequest, "not JSON"),
        ("[]", .badRequest, "not an object"),
        ("{}", .badRequest, "'enabled' is missing"),
        (#"{"enabled": 1}"#, .badRequest, "'enabled' has the wrong type"),
        (#"{"enabled": true, "rollout": 101}"#, .badRequest, "'rollout' has no allowed value"),
        (#"{"enabled": true, "rollout": -1}"#, .badRequest, "'rollout' has no allowed value"),
        (#"{"enabled": true, "rollout": 25.5}"#, .badRequest, "'rollout' has no allowed value"),
        (#"{"enabled": true, "rollout": 99999999999999999999}"#, .badRequest, "'rollout' has no allowed value"),
        (#"{"enabled": true, "rolout": 5}"#, .badRequest, "'rolout' is not known"),
        (String(repeating: " ", count: 2_000), .contentTooLarge, "1024 bytes at most"),
    ]

    @Test("A body with a mistake changes nothing, and the answer says in JSON what it is", arguments: mistakenBodies)
    func mistake(body: String, status: HTTPResponse.Status, message: String) async throws {
        let service = quietService()
        try await service.application.test(.router) { client in
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
        (.get, "/nowhere", "nothing is at GET /nowhere"),
    ]

    @Test("An unknown flag, and an unknown path, are answered 404 in JSON", arguments: unknownPaths)
    func unknown(method: HTTPRequest.Method, path: String, message: String) async throws {
        try await quietService().application.test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true}"#)
            try await client.execute(uri: path, method: method, body: method == .put ? body : nil) { response in
                #expect(response.status == .notFound)
                let mistake = try response.decoded(as: Mistake.self)
                #expect(mistake.error.message.contains(message))
            }
        }
    }

    @Test("A method that a path does not have is answered 405, with those that it has")
    func method() async throws {
        try await quietService().application.test(.router) { client in
            try await client.execute(uri: "/flags/dark-mode", method: .delete) { response in
                #expect(response.status == .methodNotAllowed)
                #expect(response.headers[.allow] == "GET, HEAD, PUT")
            }
        }
    }

    @Test("A change that expects a version that is not there any more changes nothing")
    func staleWriter() async throws {
        let service = quietService()
        try await service.application.test(.router) { client in
            let body = ByteBuffer(string: #"{"enabled": true}"#)
            var tag = try await client.execute(uri: "/flags/dark-mode", method: .get) {
                try #require($0.headers[.eTag])
            }
            let stale = tag
            tag = try await client.execute(
                uri: "/flags/dark-mode",
                method: .put,
                headers: [.ifMatch: tag],
                body: body
            ) { response in
                #expect(response.status == .ok)
                return try #require(response.headers[.eTag])
            }
            #expect(tag != stale)
            try await client.execute(uri: "/flags/dark-mode", method: .put, headers: [.ifMatch: stale], body: body) {
                #expect($0.status == .preconditionFailed)
            }
        }
        #expect(service.flags.snapshot.version == 1)
    }

    @Test("The page is served")
    func page() async throws {
        try await quietService().application.test(.router) { client in
            try await client.execute(uri: "/", method: .get) { response in
                #expect(response.headers[.contentType] == "text/html; charset=utf-8")
                #expect(String(buffer: response.body).contains("<script src=\"/page.js\">"))
            }
            try await client.execute(uri: "/page.js", method: .get) { response in
                #expect(String(buffer: response.body).contains("new EventSource"))
            }
        }
    }
}
