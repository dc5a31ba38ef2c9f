// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Why a mirror does not follow its engine, or a change was not made.
public struct MirrorError: Error, Hashable, Sendable {
    /// The kind of failure. More kinds may come.
    public struct Code: Hashable, Sendable {
        private enum Value: String {
            case unreachable, noLeader, wrongServer, untrusted, unauthenticated, permissionDenied, tooManyKeys
            case protocolViolation, invalidConfiguration, revisionGone, revisionUnknown
            case conflict, outcomeUnknown, notConnected, malformedValue, noLease, stopped, other
            case behind, tooLarge, tooManyChanges, notShown
        }
        private let value: Value
        private init(_ value: Value) { self.value = value }

        /// No server answers, or not in time.
        public static let unreachable = Code(.unreachable)
        /// The member has no leader: it is cut off from the others, or they elect one.
        public static let noLeader = Code(.noLeader)
        /// Something answers that is not the engine.
        public static let wrongServer = Code(.wrongServer)
        /// The mirror refuses the server's certificate, or the server the mirror's: an unknown
        /// authority, another host, expired, or none.
        public static let untrusted = Code(.untrusted)
        /// The name or the password is wrong, or the engine asks for them.
        public static let unauthenticated = Code(.unauthenticated)
        /// The user may not read, or not change, these keys.
        public static let permissionDenied = Code(.permissionDenied)
        /// The range has more keys than the configuration allows.
        public static let tooManyKeys = Code(.tooManyKeys)
        /// The server broke one of the engine's promises.
        public static let protocolViolation = Code(.protocolViolation)
        /// The configuration names no usable server.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The engine no longer has this revision, or what came after it: the mirror lists again.
        public static let revisionGone = Code(.revisionGone)
        /// The engine has never had this revision: it has lost data, and the mirror lists again.
        public static let revisionUnknown = Code(.revisionUnknown)
        /// The key has changed since the mirror saw it: nothing was written.
        public static let conflict = Code(.conflict)
        /// The connection ended before the answer to a change: it was made, or not.
        public static let outcomeUnknown = Code(.outcomeUnknown)
        /// The mirror has no session: nothing was written.
        public static let notConnected = Code(.notConnected)
        /// The value cannot be encoded.
        public static let malformedValue = Code(.malformedValue)
        /// The lease has ended, or never was: nothing was written.
        public static let noLease = Code(.noLease)
        /// The mirror does not get what the engine has: keys have changed, and the watch brings
        /// nothing. From a change: nothing was written.
        public static let behind = Code(.behind)
        /// A message has more bytes than the configuration or the engine allows. From a change:
        /// nothing was written.
        public static let tooLarge = Code(.tooLarge)
        /// There are more changes than the engine allows in one transaction: nothing was written.
        public static let tooManyChanges = Code(.tooManyChanges)
        /// The change was made, and the mirror does not show it yet.
        public static let notShown = Code(.notShown)
        /// The mirror's `run()` has ended.
        public static let stopped = Code(.stopped)
        /// Any other error of the engine's.
        public static let other = Code(.other)
    }

    public let code: Code
    /// A description of the failure, for people.
    public let message: String
    /// Where; nil if no server was involved.
    public let server: String?

    public init(_ code: Code, _ message: String, server: String? = nil) {
        self.code = code
        self.message = message
        self.server = server
    }

    /// Whether another attempt may succeed without a change of the configuration or of the engine.
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
