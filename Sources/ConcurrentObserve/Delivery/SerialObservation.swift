// SPDX-License-Identifier: Apache-2.0

/// Delivers events on the threads that make the changes, one at a time. A thread that finds another
/// thread delivering leaves its event and goes on; the other thread delivers it.
@usableFromInline
internal final class SerialObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: it adds only a constant.
    @usableFromInline let deliver: Delivering

    @inlinable
    override init(_ buffering: Buffering, _ succession: Succession<Event>?) {
        deliver = Self.delivering
        super.init(buffering, succession)
    }

    @usableFromInline
    override var isSerial: Bool { true }

    /// The number of events that a thread delivers: its own and 64 of others. Then it has other
    /// work to do, and a thread of the library goes on.
    private static var share: Int { 1 + 64 }

    @usableFromInline
    override func begin() {
        guard !deliver(self, Self.share) else { return }
        handOver()
    }

    /// Hands the delivery over to a thread of the library, which does other work after every
    /// `shareOfLibrary` events.
    private func handOver() {
        ThreadRecord.retire(
            DeferredAction(for: self) { [self] in if !deliver(self, Self.shareOfLibrary) { handOver() } }
        )
    }

    private static var shareOfLibrary: Int { 4_096 }
}
