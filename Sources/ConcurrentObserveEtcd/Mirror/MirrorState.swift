// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Whether a mirror's contents count as current.
public enum MirrorState: Sendable {
    /// The contents were never confirmed. The value is the error of a failed attempt; nil if there
    /// was none.
    case connecting(MirrorError?)
    /// The contents are behind the engine by at most ``MirrorConfiguration/longestAge``.
    case ready
    /// The contents may be old. The engine last confirmed them for the instant `since`.
    case stale(since: ContinuousClock.Instant, MirrorError)
    /// The contents may be old, for a reason that repetition does not cure. The engine last
    /// confirmed them for the instant `since`; nil if it never did.
    case failed(since: ContinuousClock.Instant?, MirrorError)

    public var isReady: Bool { if case .ready = self { true } else { false } }

    /// Why the mirror is not ready; nil if it is.
    public var error: MirrorError? {
        switch self {
        case .ready: nil
        case .connecting(let error): error
        case .stale(_, let error), .failed(_, let error): error
        }
    }

    /// The state's name, without its details.
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
