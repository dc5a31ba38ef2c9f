// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore

extension Request {
    /// Decodes the body, which is JSON.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes.
    ///   - form: The form of a correct body, for the message of an error.
    package func decoded<Content: Decodable>(
        as type: Content.Type = Content.self,
        upTo limit: Int,
        form: String
    ) async throws -> Content {
        let body: ByteBuffer
        do {
            body = try await self.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge, message: "a body has \(limit) bytes at most")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(buffer: body))
        } catch let error as DecodingError {
            throw HTTPError(.badRequest, message: "\(error.explanation); send \(form)")
        }
    }
}

/// A member that an object has and should not have: `debugDescription` of the error, which then
/// says so.
package let unknownMember = "no such member"

extension DecodingError {
    /// One line for the sender of the body. It also names the flag if the body has several.
    package var explanation: String {
        switch self {
        case .keyNotFound(let key, let context): "'\((context.codingPath + [key]).text)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.isEmpty
                ? "the body is not an object" : "'\(context.codingPath.text)' has the wrong type"
        case .dataCorrupted(let context) where context.debugDescription == unknownMember:
            "'\(context.codingPath.text)' is not known"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? "the body is not JSON" : "'\(context.codingPath.text)' has no allowed value"
        @unknown default: "the body cannot be decoded"
        }
    }
}

extension [any CodingKey] {
    fileprivate var text: String { map(\.stringValue).joined(separator: ".") }
}
