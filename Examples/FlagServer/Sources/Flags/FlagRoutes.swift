// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore

/// `GET /flags`, `PATCH /flags`, `GET /flags/{name}`, `PUT /flags/{name}`, and `GET /source`.
struct FlagRoutes: Sendable {
    /// What a body may have at most, in bytes.
    static let bodyLimit = 1_024

    let flags: FeatureFlags
    let source: FlagSource

    func add(to router: Router<FlagRequestContext>) {
        router.read("source") { _, _ in source.state() }
        router.group("flags")
            .read { _, _ in flags.snapshot }
            .patch { request, _ in
                // All names are known, and all values good, before anything is changed.
                let given = try await body(
                    [String: Flag].self,
                    of: request,
                    form: #"{"dark-mode": {"enabled": true, "rollout": 25}, "maintenance": {"enabled": false}}"#
                )
                guard !given.isEmpty else { throw HTTPError(.badRequest, message: "the body names no flag") }
                var changes: [Flag.Name: Flag] = [:]
                for (name, flag) in given { changes[try self.name(name)] = flag }
                try await change(changes)
                return flags.snapshot
            }
            .read(":name") { _, context in flags[try name(context)].value }
            .put(":name") { request, context in
                let name = try name(context)
                let form = #"{"enabled": true, "rollout": 25}, rollout from 0 to 100 or left out"#
                let flag = try await body(Flag.self, of: request, form: form)
                try await change([name: flag])
                // The change just made, or a later one.
                return flags[name].value
            }
    }

    /// Returns after the callbacks of inline observers. The streams have the change in their mailboxes then.
    private func change(_ changes: [Flag.Name: Flag]) async throws {
        do {
            try await source.change(changes)
        } catch let error as SourceUnavailable {
            throw HTTPError(.serviceUnavailable, message: error.message)
        }
    }

    private func name(_ context: FlagRequestContext) throws -> Flag.Name {
        try name(context.flagName)
    }

    private func name(_ given: String) throws -> Flag.Name {
        guard let name = Flag.Name(rawValue: given) else {
            let known = Flag.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.notFound, message: "no flag has the name '\(given)'; there are \(known)")
        }
        return name
    }

    /// - Parameter form: What a right body looks like.
    private func body<Content: Decodable>(_: Content.Type, of request: Request, form: String) async throws -> Content {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: Self.bodyLimit)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge, message: "a body has \(Self.bodyLimit) bytes at most")
        }
        do {
            return try JSONDecoder().decode(Content.self, from: Data(buffer: body))
        } catch let error as DecodingError {
            throw HTTPError(.badRequest, message: "\(error.explanation); send \(form)")
        }
    }
}
