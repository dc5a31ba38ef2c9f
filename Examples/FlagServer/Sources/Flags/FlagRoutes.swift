// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore

/// `GET /flags`, `GET /flags/{name}`, `PUT /flags/{name}`, and `GET /source`.
struct FlagRoutes: Sendable {
    /// What a body may have at most, in bytes.
    static let bodyLimit = 1_024

    let flags: FeatureFlags
    let source: FlagSource

    func add(to router: Router<FlagRequestContext>) {
        router.get("source") { _, _ in source.state() }
        router.group("flags")
            .get { _, _ in Listing(flags: flags.states) }
            .get(":name") { _, context in flags.state(of: try name(context)) }
            .put(":name") { request, context in
                let name = try name(context)
                let flag = try await flag(request)
                do {
                    // Before the answer: the callbacks of inline observers. The streams have it in their mailboxes then.
                    try await source.change(name, flag)
                } catch let error as SourceUnavailable {
                    throw HTTPError(.serviceUnavailable, message: error.message)
                }
                // The change just made, or a later one.
                return flags.state(of: name)
            }
    }

    private struct Listing: ResponseEncodable {
        let flags: [FlagState]
    }

    private func name(_ context: FlagRequestContext) throws -> Flag.Name {
        let given = try context.parameters.require("name")
        guard let name = Flag.Name(rawValue: given) else {
            let known = Flag.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.notFound, message: "no flag has the name '\(given)'; there are \(known)")
        }
        return name
    }

    private func flag(_ request: Request) async throws -> Flag {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: Self.bodyLimit)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge, message: "a body has \(Self.bodyLimit) bytes at most")
        }
        do {
            return try JSONDecoder().decode(Flag.self, from: Data(buffer: body))
        } catch let error as DecodingError {
            let form = #"{"enabled": true, "rollout": 25}, rollout from 0 to 100 or left out"#
            throw HTTPError(.badRequest, message: "\(error.explanation); send \(form)")
        }
    }
}
