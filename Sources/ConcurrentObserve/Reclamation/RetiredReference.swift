// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

/// A retired reference that is in no magazine and no ring. The reason is one of these: the object
/// is large, and destroying it takes long; a frame pinned the object when the reference was about
/// to be released; many items of the source wait; or the ring had no room.
internal final class RetiredReference: Retirable, @unchecked Sendable {
    // Unchecked: constants.
    private let reference: UInt
    private let owner: UInt
    private let isForDeinitThreads: Bool

    /// Makes an item for a reference of the caller, and takes over the reference.
    ///
    /// - Parameters:
    ///   - owner: Identifies the source.
    ///   - runsUserCode: Whether the release runs user code, or takes as long as user code might.
    init(_ reference: UInt, of owner: UInt, runsUserCode: Bool) {
        (self.reference, self.owner, isForDeinitThreads) = (reference, owner, runsUserCode)
        super.init()
    }

    override var hold: Hold { .validatedPin(reference) }
    override var runsUserCode: Bool { isForDeinitThreads }
    override var sourceAddress: UInt { owner }
    override func reclaim() { releaseReference(reference) }
}

/// Releases a counted reference that the caller owns. The caller must hold no lock if the release
/// may run user code.
@usableFromInline
internal func releaseReference(_ reference: UInt) {
    dropReference(reference)
}

/// Releases a counted reference that the caller owns. `BoxPool` calls it for empty boxes, whose
/// release destroys no value.
internal func dropReference(_ reference: UInt) {
    // Safe: the caller owns it; the runtime releases every object in the same way.
    unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: reference).unsafelyUnwrapped).release()
}
