// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPEdge
import Hummingbird
import NIOCore

/// OpenFeature's protocol for evaluation over HTTP: `POST /ofrep/v1/evaluate/flags/{name}`, and
/// `/ofrep/v1/evaluate/flags` for all.
///
/// The body is `{"context": {"targetingKey": "user 1"}}`. Other members of the context decide
/// nothing here.
package struct EvaluationRoutes<State: Sendable>: Sendable {
    /// The begin of all of these paths. Their POST requests change nothing.
    package static var path: String { "/ofrep/" }

    private let provider: FlagProvider<State>
    /// The largest number of bytes of a context. Applications send all that they know of a user.
    private let bodyLimit = 64 * 1_024

    package init(_ provider: FlagProvider<State>) { self.provider = provider }

    package func add(to router: Router<EdgeContext>) {
        router.group("ofrep/v1/evaluate/flags")
            .post { request, _ in
                try await answer(request, nil) { targetingKey in
                    EvaluatedFlags(flags: provider.present.evaluations(targetingKey: targetingKey))
                }
            }
            .post(":name") { request, context in
                let name = try context.name
                return try await answer(request, name) { targetingKey in
                    guard let evaluation = provider.present.evaluation(of: name, targetingKey: targetingKey) else {
                        throw EvaluationError(
                            status: .notFound,
                            code: "FLAG_NOT_FOUND",
                            details: "no flag has the name '\(name)'"
                        )
                    }
                    return evaluation
                }
            }
    }

    /// Returns the answer to a request.
    ///
    /// - Parameter name: The flag that an error names.
    private func answer<Answer: Encodable>(
        _ request: Request,
        _ name: String?,
        _ body: (_ targetingKey: String?) throws -> Answer
    ) async throws -> EncodedAnswer {
        do {
            let key = try await targetingKey(of: request)
            guard provider.hasFlags.value else {
                let details = "there were no flags from the source yet"
                throw EvaluationError(status: .serviceUnavailable, code: "PROVIDER_NOT_READY", details: details)
            }
            let answer = try body(key)
            return EncodedAnswer(status: .ok, bytes: try JSONEncoder().encode(answer))
        } catch let error as EvaluationError {
            return EncodedAnswer(status: error.status, bytes: try JSONEncoder().encode(error.body(name)))
        }
    }

    private func targetingKey(of request: Request) async throws -> String? {
        do {
            let body = try await request.body.collect(upTo: bodyLimit)
            return try JSONDecoder().decode(EvaluationBody.self, from: Data(buffer: body)).context?.targetingKey
        } catch let error as DecodingError {
            throw EvaluationError(status: .badRequest, code: "PARSE_ERROR", details: error.explanation)
        } catch is NIOTooManyBytesError {
            let details = "a body has \(bodyLimit) bytes at most"
            throw EvaluationError(status: .contentTooLarge, code: "INVALID_CONTEXT", details: details)
        }
    }
}

private struct EvaluationBody: Decodable {
    struct Context: Decodable { let targetingKey: String? }
    let context: Context?
}

/// The reason why there is no value, as a code of OpenFeature.
private struct EvaluationError: Error {
    struct Body: Encodable {
        let key: String?
        let errorCode, errorDetails: String
    }

    let status: HTTPResponse.Status
    let code, details: String

    func body(_ name: String?) -> Body { Body(key: name, errorCode: code, errorDetails: details) }
}

private struct EvaluatedFlags: Encodable { let flags: [Evaluation] }

private struct EncodedAnswer: ResponseGenerator {
    let status: HTTPResponse.Status
    let bytes: Data

    func response(from request: Request, context: some RequestContext) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

/// `{"key": "dark-mode", "value": true, "variant": "on", "reason": "TARGETING_MATCH", "metadata": {"version": 3}}`
extension Evaluation: Encodable {
    private enum CodingKeys: String, CodingKey { case key, value, variant, reason, metadata }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .key)
        try container.encode(value, forKey: .value)
        try container.encode(variant, forKey: .variant)
        try container.encode(reason.rawValue, forKey: .reason)
        try container.encode(["version": version], forKey: .metadata)
    }
}
