// SPDX-License-Identifier: Apache-2.0

/// The memory ordering of an access or a fence, as the source states it.
public enum Order: String, Sendable {
    case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent

    /// Whether a load, or a fence, with this ordering acquires.
    var acquires: Bool {
        switch self {
        case .acquiring, .acquiringAndReleasing, .sequentiallyConsistent: true
        case .relaxed, .releasing: false
        }
    }

    /// Whether a store, or a fence, with this ordering releases.
    var releases: Bool {
        switch self {
        case .releasing, .acquiringAndReleasing, .sequentiallyConsistent: true
        case .relaxed, .acquiring: false
        }
    }
}

/// The order that an instruction of AArch64 adds to an ordinary access.
public struct Marks: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `LDAR`, and the load of `SWPA`, `CASA`, `LDAXR`.
    public static let acquire = Marks(rawValue: 1)
    /// `LDAPR`.
    public static let acquirePC = Marks(rawValue: 2)
    /// `STLR`, and the store of `SWPL`, `CASL`, `STLXR`.
    public static let release = Marks(rawValue: 4)
    /// A read-modify-write that is a pair of exclusives, not one instruction.
    public static let exclusive = Marks(rawValue: 8)
    /// A read-modify-write that puts the old value in no register: its load orders nothing.
    public static let noReturn = Marks(rawValue: 16)
    /// An x86 instruction with the `lock` prefix, or `xchg`.
    public static let locked = Marks(rawValue: 32)
}

/// A barrier instruction.
public enum Barrier: String, Sendable {
    /// `dmb ish`, `mfence`.
    case full
    /// `dmb ishld`.
    case load
    /// `dmb ishst`.
    case store
    /// Orders nothing between processors.
    case none
}
