// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import Testing

/// A flag, as a stream reports it.
struct ReceivedFlag: Decodable, Equatable, Sendable {
    let name: String
    let enabled: Bool
    let rollout: Int
    let version: UInt64
}

/// A derived flag, as a stream reports it.
struct ReceivedDerived: Decodable, Equatable, Sendable {
    let name: String
    let enabled: Bool
}

/// One commit, or the state, as a stream reports it.
struct ReceivedFlags: Decodable, Equatable, Sendable {
    let version: UInt64
    let dropped: UInt64
    let flags: [ReceivedFlag]
    var derived = [ReceivedDerived(name: "checkout-open", enabled: false)]
}

/// An event as a client receives it.
enum ReceivedEvent: Equatable, Sendable {
    case state(ReceivedFlags)
    case change(ReceivedFlags)
    case heartbeat
    case end
}

/// Reads a stream of events, one after the other.
struct EventReader {
    private var body: HTTPClientResponse.Body.AsyncIterator
    private var text = ""

    /// Connects to the server at a port of this machine.
    static func connect(to port: Int, path: String = "events") async throws -> EventReader {
        let request = HTTPClientRequest(url: "http://localhost:\(port)/\(path)")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        #expect(response.status == .ok)
        #expect(response.headers["content-type"] == ["text/event-stream; charset=utf-8"])
        return EventReader(body: response.body.makeAsyncIterator())
    }

    /// Returns the next event of `GET /events`; nil once the server has ended the stream.
    mutating func next() async throws -> ReceivedEvent? { try await nextText().map(parse) }

    /// Returns the next event as it was sent, without the empty line; nil once the server has ended
    /// the stream.
    mutating func nextText() async throws -> Substring? {
        while true {
            if let end = text.range(of: "\n\n") {
                let event = text[..<end.lowerBound]
                text = String(text[end.upperBound...])
                return event
            }
            guard let buffer = try await body.next() else { return nil }
            text += String(buffer: buffer)
        }
    }

    /// Returns all events until the end of the stream.
    mutating func rest() async throws -> [ReceivedEvent] {
        var events: [ReceivedEvent] = []
        while let event = try await next() { events.append(event) }
        return events
    }

    private func parse(_ event: Substring) throws -> ReceivedEvent {
        if event == ":" { return .heartbeat }
        var fields: [Substring: Substring] = [:]
        for line in event.split(separator: "\n") {
            let colon = try #require(line.firstRange(of: ": "))
            fields[line[..<colon.lowerBound]] = line[colon.upperBound...]
        }
        let data = Data(try #require(fields["data"]).utf8)
        switch fields["event"] {
        case "state": return .state(try JSONDecoder().decode(ReceivedFlags.self, from: data))
        case "change": return .change(try JSONDecoder().decode(ReceivedFlags.self, from: data))
        case "end": return .end
        case let other:
            Issue.record("an event of an unknown kind: \(other ?? "none")")
            return .end
        }
    }
}
