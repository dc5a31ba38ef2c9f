// SPDX-License-Identifier: Apache-2.0

/// An observation of a property or of a path. It receives the changes that come after its start
/// version.
@usableFromInline
internal final class VersionedObserver: Observer, @unchecked Sendable {
    // Unchecked: written before publication.

    /// The version of the source when the observation began. Constant once published.
    @usableFromInline var since: UInt64 = 0

    @usableFromInline
    override init(core: borrowing RegistryCore, owner: WeakReference? = nil, _ marks: ObserverMark) {
        super.init(core: core, owner: owner, marks.union(.versioned))
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &since) { UInt(bitPattern: $0) } == address + UInt(Self.sinceOffset),
            "an observer's layout is not the one that the walk reads"
        )
    }

    /// The distance in bytes from an observer's address to `since`.
    @usableFromInline static var sinceOffset: Int {
        56
    }

    /// Returns the version of the source when the observation at `address` began.
    @inlinable @inline(__always)
    static func since(at address: UInt) -> UInt64 {
        assert(mark(at: address).contains(.versioned), "an observer of a registry has no version")
        // Safe: the pinned table keeps every observer that it contains; the version is constant.
        return unsafe UnsafePointer<UInt64>(bitPattern: address &+ UInt(sinceOffset)).unsafelyUnwrapped.pointee
    }

    /// Whether the observer at `address` receives the change to `version`: it must have begun
    /// before.
    @inlinable @inline(__always)
    static func receives(_ version: UInt64, at address: UInt) -> Bool {
        return since(at: address) < version
    }
}
