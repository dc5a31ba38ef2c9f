// SPDX-License-Identifier: Apache-2.0

/// Events that no observer receives, on their way to a thread that may run user code. (P5)
///
/// The thread whose change drops them may hold a lock that a value's `deinit` takes, and others wait for the change.
@usableFromInline
internal final class Discarded<Content: Sendable>: Retirable, @unchecked Sendable {
    // Unchecked: written when it is made, and emptied by `reclaim`.
    private var content: Content?

    /// The source that it belongs to: the subscription or the observation that would have delivered
    /// it.
    private let owner: UInt

    private init(_ content: inout Content?, of owner: AnyObject) {
        self.owner = UInt(bitPattern: ObjectIdentifier(owner))
        super.init()
        swap(&self.content, &content)
    }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }
    override var source: UInt { owner }
    override func reclaim() { content = nil }

    /// Takes over `content`, which is nil afterwards, and has it destroyed elsewhere. Under no lock.
    @usableFromInline
    static func discard(_ content: inout Content?, of owner: AnyObject) {
        if content != nil { ThreadRecord.retire(Discarded(&content, of: owner)) }
    }
}
