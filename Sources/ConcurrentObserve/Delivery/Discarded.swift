// SPDX-License-Identifier: Apache-2.0

/// Events that nobody hears, on their way to a thread that may run user code. (P5)
///
/// Whoever makes the change that drops them may hold a lock that a value's `deinit` takes, and others wait for the change.
@usableFromInline
internal final class Discarded<Content: Sendable>: Retirable, @unchecked Sendable {
    // Unchecked: written when it is made, and emptied by `reclaim`.
    private var content: Content?

    private init(_ content: inout Content?) {
        super.init()
        swap(&self.content, &content)
    }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }
    override func reclaim() { content = nil }

    /// Takes over `content`, which is nil afterwards, and has it destroyed elsewhere. Under no lock.
    @usableFromInline
    static func discard(_ content: inout Content?) {
        if content != nil { ThreadRecord.retire(Discarded(&content)) }
    }
}
