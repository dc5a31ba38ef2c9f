// SPDX-License-Identifier: Apache-2.0

/// A retired reference that is in no magazine: to a large object, which takes long to destroy, or to
/// one that was pinned when its thread wanted to release it.
internal final class RetiredReference: Retirable, @unchecked Sendable {
    // Unchecked: constants.
    private let reference: UInt
    private let owner: UInt
    private let isLarge: Bool

    /// Takes over the caller's reference.
    ///
    /// - Parameter owner: Names the source; items of one source wait for each other if they are
    ///   large.
    init(_ reference: UInt, of owner: UInt, isLarge: Bool) {
        (self.reference, self.owner, self.isLarge) = (reference, owner, isLarge)
        super.init()
    }

    override var hold: Hold { .validatedPin(reference) }
    /// A large object is destroyed where user code is: nothing else waits for it there.
    override var runsUserCode: Bool { isLarge }
    override var source: UInt { owner }
    override func reclaim() { releaseReference(reference) }
}
