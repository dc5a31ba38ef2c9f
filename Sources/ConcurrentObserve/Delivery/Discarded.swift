// SPDX-License-Identifier: Apache-2.0

/// Events that no observer will receive. They are retired, so that a thread which may run user code
/// destroys them. (P5)
///
/// The thread whose change drops them may hold a lock that a value's `deinit` takes, and other
/// threads wait for the change.
@usableFromInline
internal final class Discarded<Content: Sendable>: Retirable, @unchecked Sendable {
    // Unchecked: written when the object is made, and emptied by `reclaim`.
    private var content: Content?

    /// The address that names its source: the subscription or the observation that would have
    /// delivered the events.
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

    /// Takes over `content`, which is nil afterwards, and retires it. Under no lock.
    @usableFromInline
    static func discard(_ content: inout Content?, of owner: AnyObject) {
        if content != nil { ThreadRecord.retire(Discarded(&content, of: owner)) }
    }
}
