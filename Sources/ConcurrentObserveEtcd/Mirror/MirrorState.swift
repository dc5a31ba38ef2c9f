// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Whether a mirror's contents may count as current.
public enum MirrorState: Sendable {
    /// There are no contents yet; with the error of the last attempt.
    case connecting(MirrorError?)
    /// The contents are those that the engine had within the last
    /// ``MirrorConfiguration/longestAge``.
    case ready
    /// The contents are those of an earlier time: last confirmed at that instant.
    case stale(since: ContinuousClock.Instant, MirrorError)
    /// As stale, for a reason that repetition does not cure. `since` is nil if there never were
    /// contents.
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
