// SPDX-License-Identifier: Apache-2.0

/// A retired reference that is in no magazine and no ring: to a large object, which takes long to
/// destroy, to one that was pinned when it could have been released, or of a source of which many
/// wait.
internal final class RetiredReference: Retirable, @unchecked Sendable {
    // Unchecked: constants.
    private let reference: UInt
    private let owner: UInt
    private let isForDeinitThreads: Bool

    /// Takes over the caller's reference.
    ///
    /// - Parameters:
    ///   - owner: Names the source.
    ///   - runsUserCode: Whether the release runs user code, or takes as long.
    init(_ reference: UInt, of owner: UInt, runsUserCode: Bool) {
        (self.reference, self.owner, isForDeinitThreads) = (reference, owner, runsUserCode)
        super.init()
    }

    override var hold: Hold { .validatedPin(reference) }
    override var runsUserCode: Bool { isForDeinitThreads }
    override var source: UInt { owner }
    override func reclaim() { releaseReference(reference) }
}

/// Releases a counted reference that the caller owns. Under no lock where that may run user code.
internal func releaseReference(_ reference: UInt) {
    dropReference(reference)
}

/// What `releaseReference` does.
internal func dropReference(_ reference: UInt) {
    // Safe: the caller owns it; every object of the runtime's is released alike.
    unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: reference).unsafelyUnwrapped).release()
}
