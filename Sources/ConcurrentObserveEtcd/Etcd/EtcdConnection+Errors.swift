// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore

extension MirrorError {
    /// Makes the error for a failed gRPC call. etcd uses some gRPC codes for several faults, so the
    /// text is examined, too.
    ///
    /// - Parameter maximum: The largest size of a message, in bytes.
    static func ofCall(_ error: RPCError, _ endpoint: EtcdEndpoint, maximum: Int) -> MirrorError {
        let text = error.message
        let code: Code =
            switch error.code {
            case _ where text.contains("etcdserver: "): ofEtcd(text).code
            case .unavailable where error.isOfCertificate: .untrusted
            case .unavailable where error.isOfProtocol: .wrongServer
            case .unavailable, .deadlineExceeded, .cancelled: .unreachable
            case _ where error.isOfSize: .tooLarge
            case .unauthenticated: .unauthenticated
            case .permissionDenied: .permissionDenied
            case .unimplemented, .unknown, .internalError, .dataLoss: .wrongServer
            default: .other
            }
        let cause = error.cause.map { ": \($0)" } ?? ""
        let limit = error.isUnreadable ? "a message has more than \(maximum) bytes, or is malformed: " : ""
        return MirrorError(code, "\(limit)\(error.code): \(text)\(cause)", server: "\(endpoint)")
    }

    /// Makes the error for a text that etcd sent.
    static func ofEtcd(_ text: String) -> MirrorError {
        let known: [(String, Code)] = [
            ("has been compacted", .revisionGone), ("is a future revision", .revisionUnknown),
            ("permission denied", .permissionDenied), ("user name is empty", .unauthenticated),
            ("authentication failed", .unauthenticated), ("authentication is not enabled", .unauthenticated),
            ("invalid auth token", .unauthenticated), ("auth", .unauthenticated),
            ("too many operations in txn request", .tooManyChanges), ("request is too large", .tooLarge),
            ("requested lease not found", .noLease), ("no leader", .noLeader),
            ("leader changed", .noLeader), ("request timed out", .unreachable), ("server stopped", .unreachable),
        ]
        return MirrorError(known.first { text.contains($0.0) }?.1 ?? .other, text)
    }

    /// Whether etcd rejected the token: it has expired, or users and roles have changed since.
    var isOfToken: Bool { message.contains("invalid auth token") || message.contains("auth store is old") }
}

extension RPCError {
    /// Whether the server speaks another protocol than the client: it does not speak HTTP/2, or
    /// only one of the two uses TLS.
    fileprivate var isOfProtocol: Bool {
        cause is NotHTTP2 || cause.map { "\($0)".contains("WRONG_VERSION_NUMBER") } ?? false
    }

    /// Whether a message is larger than the client or the server allows, or could not be decoded.
    fileprivate var isOfSize: Bool { code == .resourceExhausted || isUnreadable }

    /// Whether gRPC could not decode a message. For a message in a stream, gRPC does not report
    /// whether it was too large or malformed.
    fileprivate var isUnreadable: Bool { code == .internalError && message.contains("Failed to decode message") }

    /// Whether the client or the server refused the other's certificate. gRPC reports the reason as
    /// the error's cause. The cause has no public type, so its text is examined.
    fileprivate var isOfCertificate: Bool {
        let causes = cause.map { "\($0)" } ?? ""
        let known = ["CERTIFICATE", "unableToValidateCertificate", "failedToValidateHostname"]
        return known.contains { causes.contains($0) }
    }
}
#endif
