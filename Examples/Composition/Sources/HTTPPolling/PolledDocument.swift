// SPDX-License-Identifier: Apache-2.0

#if HTTPClient
import AsyncHTTPClient
import ConcurrentObserve
import Foundation
import NIOFoundationCompat

/// A document of an HTTP server as a property: the last one that could be read and decoded.
///
/// While the server cannot be reached or answers nonsense, the last document stays, and
/// `failure` says why it may be old.
final class PolledDocument<Value: Decodable & Equatable & Sendable>: Sendable {
    /// Nil until the first document has arrived.
    var document: ReadOnly<Value?> { current.readOnly }
    /// Why the last attempt has failed; nil after one that has succeeded.
    var failure: ReadOnly<String?> { lastFailure.readOnly }

    private let current = Observed<Value?>(nil)
    private let lastFailure = Observed<String?>(nil)
    private let url: String
    private let client: HTTPClient

    init(_ url: String, client: HTTPClient = .shared) {
        self.url = url
        self.client = client
    }

    /// Asks the server until the task is cancelled: each `interval`, and after failures less
    /// often, up to 32 times the interval.
    func poll(every interval: Duration) async throws {
        var tag: String?
        var factor = 1
        while true {
            do {
                tag = try await ask(knowing: tag)
                factor = 1
                if lastFailure.value != nil { lastFailure.value = nil }
            } catch {
                try Task.checkCancellation()
                (factor, lastFailure.value) = (min(2 * factor, 32), String(describing: error))
            }
            // At random, so that a thousand services do not ask at the same moment.
            try await Task.sleep(for: interval * factor * Double.random(in: 0.5...1))
        }
    }

    private struct Unexpected: Error { let status: UInt }

    /// - Returns: The tag of the document that the property has now.
    private func ask(knowing tag: String?) async throws -> String? {
        var request = HTTPClientRequest(url: url)
        if let tag { request.headers.add(name: "If-None-Match", value: tag) }
        let response = try await client.execute(request, timeout: .seconds(10))
        // A document that has not changed is not sent again.
        if response.status == .notModified { return tag }
        guard response.status == .ok else { throw Unexpected(status: response.status.code) }
        let body = try await response.body.collect(upTo: 1 << 20)
        let new = try JSONDecoder().decode(Value.self, from: body)
        // Setting an equal value would be a change, too.
        if new != current.value { current.value = new }
        return response.headers.first(name: "ETag")
    }
}
#endif
