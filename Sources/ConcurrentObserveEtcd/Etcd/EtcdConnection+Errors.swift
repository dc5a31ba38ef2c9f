// SPDX-License-Identifier: Apache-2.0

#if Etcd
import GRPCCore

extension MirrorError {
    /// An error of a call. The codes alone do not suffice: etcd gives several meanings to some.
    static func ofCall(_ error: RPCError, _ endpoint: EtcdEndpoint) -> MirrorError {
        let text = error.message
        let code: Code =
            switch error.code {
            case _ where text.contains("etcdserver: "): ofEtcd(text).code
            case .unavailable where error.isOfCertificate: .untrusted
            case .unavailable, .deadlineExceeded, .cancelled: .unreachable
            case .unauthenticated: .unauthenticated
            case .permissionDenied: .permissionDenied
            case .unimplemented, .unknown, .internalError, .dataLoss: .wrongServer
            default: .other
            }
        let cause = error.cause.map { ": \($0)" } ?? ""
        return MirrorError(code, "\(error.code): \(text)\(cause)", server: "\(endpoint)")
    }

    /// An error by etcd's own text.
    static func ofEtcd(_ text: String) -> MirrorError {
        let known: [(String, Code)] = [
            ("has been compacted", .revisionGone), ("is a future revision", .revisionUnknown),
            ("permission denied", .permissionDenied), ("user name is empty", .unauthenticated),
            ("authentication failed", .unauthenticated), ("authentication is not enabled", .unauthenticated),
            ("invalid auth token", .unauthenticated), ("auth", .unauthenticated),
            ("requested lease not found", .noLease), ("no leader", .noLeader),
            ("leader changed", .noLeader), ("request timed out", .unreachable), ("server stopped", .unreachable),
        ]
        return MirrorError(known.first { text.contains($0.0) }?.1 ?? .other, text)
    }

    /// It has expired, or users and roles have changed since.
    var isOfToken: Bool { message.contains("invalid auth token") || message.contains("auth store is old") }
    var isOfSize: Bool { message.contains("resourceExhausted") }
}

extension RPCError {
    /// Whether one side has refused the other's certificate. gRPC passes the reason on as a cause, which has no public type of its own.
    fileprivate var isOfCertificate: Bool {
        let causes = cause.map { "\($0)" } ?? ""
        let known = ["CERTIFICATE", "unableToValidateCertificate", "failedToValidateHostname"]
        return known.contains { causes.contains($0) }
    }
}
#endif
