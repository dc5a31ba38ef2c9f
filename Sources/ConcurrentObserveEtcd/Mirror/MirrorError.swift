// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// An error of a mirror, or of a change that the mirror makes.
public struct MirrorError: Error, Hashable, Sendable {
    /// The kind of failure. Later versions may add kinds.
    public struct Code: Hashable, Sendable {
        private enum Value: String {
            case unreachable, noLeader, wrongServer, untrusted, unauthenticated, permissionDenied, tooManyKeys
            case protocolViolation, invalidConfiguration, revisionGone, revisionUnknown
            case conflict, outcomeUnknown, notConnected, malformedValue, noLease, stopped, other
            case behind, tooLarge, tooManyChanges, notShown
        }
        private let value: Value
        private init(_ value: Value) { self.value = value }

        /// No server answers, or none answers in time.
        public static let unreachable = Code(.unreachable)
        /// The server has no leader: it is cut off from the others, or the servers are electing
        /// one.
        public static let noLeader = Code(.noLeader)
        /// The server that answers is not a server of the engine.
        public static let wrongServer = Code(.wrongServer)
        /// The mirror refuses the server's certificate, or the server refuses the mirror's. The
        /// certificate has an unknown authority, is for another host, has expired, or is missing.
        public static let untrusted = Code(.untrusted)
        /// The name or the password is wrong, or is missing although the engine requires it.
        public static let unauthenticated = Code(.unauthenticated)
        /// The user is not allowed to read these keys, or to change them.
        public static let permissionDenied = Code(.permissionDenied)
        /// The range has more keys than the configuration allows.
        public static let tooManyKeys = Code(.tooManyKeys)
        /// The server broke one of the engine's promises.
        public static let protocolViolation = Code(.protocolViolation)
        /// The configuration names no usable server.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The engine no longer has this revision, or the changes after it. The mirror lists again.
        public static let revisionGone = Code(.revisionGone)
        /// The engine has not had this revision yet, so it has lost data. The mirror lists again.
        public static let revisionUnknown = Code(.revisionUnknown)
        /// A key does not have the revision that the change expects. Nothing was written.
        public static let conflict = Code(.conflict)
        /// The connection failed before the answer to a change. The change may have been made.
        public static let outcomeUnknown = Code(.outcomeUnknown)
        /// The mirror has no session that is ready. Nothing was written.
        public static let notConnected = Code(.notConnected)
        /// The value cannot be encoded.
        public static let malformedValue = Code(.malformedValue)
        /// The lease has ended, or has never existed. Nothing was written.
        public static let noLease = Code(.noLease)
        /// The contents may be older than the engine's. Either the watch does not deliver changes
        /// that the engine has made, or the engine has not confirmed the contents in time. If a
        /// call that makes a change throws this, nothing was written.
        public static let behind = Code(.behind)
        /// A message is larger than the configuration or the engine allows. If a call that makes a
        /// change throws this, nothing was written.
        public static let tooLarge = Code(.tooLarge)
        /// There are more changes than the engine allows in one transaction. Nothing was written.
        public static let tooManyChanges = Code(.tooManyChanges)
        /// The change was made, but the mirror does not show it yet.
        public static let notShown = Code(.notShown)
        /// The mirror's `run()` has ended.
        public static let stopped = Code(.stopped)
        /// Any other error of the engine.
        public static let other = Code(.other)
    }

    public let code: Code
    /// A description of the failure, for people.
    public let message: String
    /// The server that the failure concerns; nil if there is none.
    public let server: String?

    public init(_ code: Code, _ message: String, server: String? = nil) {
        self.code = code
        self.message = message
        self.server = server
    }

    /// Whether another attempt may succeed without a change of the configuration or of the engine.
    /// If not, the mirror is `failed`, and tries again after a longer pause.
    var isCurable: Bool {
        switch code {
        case .wrongServer, .untrusted, .unauthenticated, .permissionDenied, .tooManyKeys, .invalidConfiguration,
            .tooLarge:
            false
        default: true
        }
    }
}

extension MirrorError.Code: CustomStringConvertible {
    public var description: String { value.rawValue }
}

extension MirrorError: CustomStringConvertible {
    public var description: String { "\(code)\(server.map { " at \($0)" } ?? ""): \(message)" }
}
#endif
