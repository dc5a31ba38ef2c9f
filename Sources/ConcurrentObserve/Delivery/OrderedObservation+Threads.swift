// SPDX-License-Identifier: Apache-2.0

public import Dispatch

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
        if !deliver(self, Self.share) { handOver() }
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

/// Delivers events on a dispatch queue, one at a time, many in each block.
@usableFromInline
internal final class QueueObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: it adds only constants.
    @usableFromInline let queue: DispatchQueue
    @usableFromInline let deliver: Delivering

    @inlinable
    init(_ queue: DispatchQueue, _ buffering: Buffering, _ succession: Succession<Event>?) {
        self.queue = queue
        deliver = Self.delivering
        super.init(buffering, succession)
    }

    @usableFromInline
    override func begin() {
        queue.async { [self] in
            // In a new block: other users of the queue come in between.
            if !deliver(self, eventsPerJob) { begin() }
        }
    }
}

/// The largest number of events that are delivered before other jobs run on the same queue or
/// actor.
@usableFromInline
internal var eventsPerJob: Int { 256 }
