// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Why a mirror does not follow etcd, or a change was not made.
public struct EtcdMirrorError: Error, Hashable, Sendable {
    /// What kind of failure it is. More kinds may come.
    public struct Code: Hashable, Sendable {
        private enum Value: String {
            case unreachable, noLeader, notEtcd, unauthenticated, permissionDenied, tooManyKeys, protocolViolation
            case invalidConfiguration, conflict, outcomeUnknown, notConnected, malformedValue, stopped, other
        }
        private let value: Value
        private init(_ value: Value) { self.value = value }

        /// No endpoint answers, or not in time.
        public static let unreachable = Code(.unreachable)
        /// The member has no leader: it is cut off from the others, or they elect one.
        public static let noLeader = Code(.noLeader)
        /// Something answers that is not etcd.
        public static let notEtcd = Code(.notEtcd)
        /// The name or the password is wrong, or etcd asks for them.
        public static let unauthenticated = Code(.unauthenticated)
        /// The user may not read, or not change, these keys.
        public static let permissionDenied = Code(.permissionDenied)
        /// The range has more keys than the configuration allows.
        public static let tooManyKeys = Code(.tooManyKeys)
        /// The server broke one of etcd's promises.
        public static let protocolViolation = Code(.protocolViolation)
        /// The configuration names no usable endpoint.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The key has changed since the mirror saw it: nothing was written.
        public static let conflict = Code(.conflict)
        /// The connection ended before the answer to a change: it was made, or not.
        public static let outcomeUnknown = Code(.outcomeUnknown)
        /// The mirror has no session: nothing was written.
        public static let notConnected = Code(.notConnected)
        /// The value cannot be encoded.
        public static let malformedValue = Code(.malformedValue)
        /// The mirror's `run()` has ended.
        public static let stopped = Code(.stopped)
        /// Any other error of etcd's.
        public static let other = Code(.other)
    }

    public let code: Code
    /// What happened, for people.
    public let message: String
    /// Where; nil if no endpoint was involved.
    public let endpoint: String?

    init(_ code: Code, _ message: String, endpoint: String? = nil) {
        self.code = code
        self.message = message
        self.endpoint = endpoint
    }

    static func invalidConfiguration(_ message: String) -> EtcdMirrorError {
        EtcdMirrorError(.invalidConfiguration, message)
    }

    /// Whether another attempt may succeed without a change of the configuration or of etcd.
    var isCurable: Bool {
        switch code {
        case .notEtcd, .unauthenticated, .permissionDenied, .tooManyKeys, .invalidConfiguration: false
        default: true
        }
    }
}

extension EtcdMirrorError.Code: CustomStringConvertible {
    public var description: String { value.rawValue }
}

extension EtcdMirrorError: CustomStringConvertible {
    public var description: String { "\(code)\(endpoint.map { " at \($0)" } ?? ""): \(message)" }
}

/// Why the present value of a key is not shown.
public struct EtcdValueError: Error, Sendable, CustomStringConvertible {
    public let key: EtcdKey
    /// The revision that brought the value.
    public let revision: Int64
    /// What the decoder threw.
    public let underlying: any Error

    public var description: String { "the value of '\(key)' of revision \(revision) is malformed: \(underlying)" }
}

/// Whether a mirror's contents may count as current.
public enum EtcdMirrorState: Sendable {
    /// There are no contents yet; with the error of the last attempt.
    case connecting(EtcdMirrorError?)
    /// The contents were confirmed within the last interval of probes.
    case ready
    /// The contents are those of an earlier time: last confirmed at that instant.
    case stale(since: ContinuousClock.Instant, EtcdMirrorError)
    /// As stale, for a reason that repetition does not cure. `since` is nil if there never were contents.
    case failed(since: ContinuousClock.Instant?, EtcdMirrorError)

    public var isReady: Bool { if case .ready = self { true } else { false } }

    /// Why the mirror is not ready; nil if it is.
    public var error: EtcdMirrorError? {
        switch self {
        case .ready: nil
        case .connecting(let error): error
        case .stale(_, let error), .failed(_, let error): error
        }
    }

    /// The state's name alone.
    public var name: String {
        switch self {
        case .connecting: "connecting"
        case .ready: "ready"
        case .stale: "stale"
        case .failed: "failed"
        }
    }
}
#endif
