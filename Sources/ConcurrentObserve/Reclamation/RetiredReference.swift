// SPDX-License-Identifier: Apache-2.0

/// A retired reference that is in no magazine and no ring. Its object is large, so destroying it
/// takes long; or the object was pinned when the reference could have been released; or many items
/// of its source wait.
internal final class RetiredReference: Retirable, @unchecked Sendable {
    // Unchecked: constants.
    private let reference: UInt
    private let owner: UInt
    private let isForDeinitThreads: Bool

    /// Takes over the caller's reference.
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
internal func releaseReference(_ reference: UInt) {
    dropReference(reference)
}

/// Does the work of `releaseReference`.
internal func dropReference(_ reference: UInt) {
    // Safe: the caller owns it; the runtime releases every object in the same way.
    unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: reference).unsafelyUnwrapped).release()
}
