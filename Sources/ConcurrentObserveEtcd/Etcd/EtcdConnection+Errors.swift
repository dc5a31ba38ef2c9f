// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore

extension MirrorError {
    /// An error of a call. The codes alone do not suffice: etcd gives several meanings to some.
    ///
    /// - Parameter maximum: How many bytes a message may have.
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

    /// An error by etcd's own text.
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

    /// It has expired, or users and roles have changed since.
    var isOfToken: Bool { message.contains("invalid auth token") || message.contains("auth store is old") }
}

extension RPCError {
    /// Whether the server speaks another protocol: none of HTTP/2, or TLS where there should be
    /// none, or the other way round.
    fileprivate var isOfProtocol: Bool {
        cause is NotHTTP2 || cause.map { "\($0)".contains("WRONG_VERSION_NUMBER") } ?? false
    }

    /// Whether a message has more bytes than this side, or the server, allows.
    fileprivate var isOfSize: Bool { code == .resourceExhausted || isUnreadable }

    /// Whether gRPC could not decode what has come. It does not say why where a stream has more
    /// messages.
    fileprivate var isUnreadable: Bool { code == .internalError && message.contains("Failed to decode message") }

    /// Whether one side has refused the other's certificate. gRPC passes the reason on as a cause,
    /// which has no public type of its own.
    fileprivate var isOfCertificate: Bool {
        let causes = cause.map { "\($0)" } ?? ""
        let known = ["CERTIFICATE", "unableToValidateCertificate", "failedToValidateHostname"]
        return known.contains { causes.contains($0) }
    }
}
#endif
