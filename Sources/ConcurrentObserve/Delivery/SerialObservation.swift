// SPDX-License-Identifier: Apache-2.0

/// Events are delivered on the threads that make the changes, one at a time: a thread that finds another at it leaves its event and goes on, and the other
/// delivers it.
@usableFromInline
internal final class SerialObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: no state of its own but a constant.
    @usableFromInline let deliver: Delivering

    @inlinable
    override init(_ buffering: Buffering, _ succession: Succession<Event>?) {
        deliver = Self.delivering
        super.init(buffering, succession)
    }

    @usableFromInline
    override var isSerial: Bool { true }

    /// Its own event, and so many of others, are a thread's share; then it has something else to do, and the library goes on.
    private static var share: Int { 1 + 64 }

    @usableFromInline
    override func begin() {
        guard !deliver(self, Self.share) else { return }
        handOver()
    }

    /// Leaves the delivery to a thread of the library, which now and then looks after others.
    private func handOver() {
        ThreadRecord.retire(
            DeferredAction(for: self) { [self] in if !deliver(self, Self.shareOfLibrary) { handOver() } }
        )
    }

    private static var shareOfLibrary: Int { 4_096 }
}
