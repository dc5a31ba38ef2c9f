// SPDX-License-Identifier: Apache-2.0

/// Does once, on the process's first use of the library, what the library's threads and the fork handlers do later. (P18)
///
/// The runtime makes a type, or finds that it conforms to a protocol, on the first use, under locks of its own. A fork may find such a
/// lock taken by a thread that does not exist in the child: whatever the child used for the first time would wait for ever. After the
/// rehearsal the child uses nothing of this room for the first time. No fork happens meanwhile, and nothing is retired yet.
///
/// What depends on a type of the user's is made with the first source of that type: see `KnownTypes`.
internal enum Rehearsal {
    /// No other thread uses the library, and the calling thread has no record.
    static func perform() {
        ThreadRecords.shared.lend { ReclamationThread.shared.rehearse() }
        Fork.lock(isRehearsal: true)
        Fork.unlock()
        Fork.lock(isRehearsal: true)
        // Frees the record that was lent.
        Fork.restartInChild()
    }
}

/// An item of no source.
internal final class RehearsedItem: Retirable, @unchecked Sendable {
    // Unchecked: see `Retirable`; what is stored is constant.
    private let held: UInt?

    /// - Parameter held: What a frame has as its current observer while it holds the item; nil for an item that nothing holds, and whose
    ///   reclaiming runs no user code.
    init(held: UInt?) { self.held = held }

    override var hold: Hold { held.map { .current($0) } ?? .nothing }
    override var runsUserCode: Bool { held != nil }
    override var source: UInt { 1 }
    override func reclaim() {}
}
