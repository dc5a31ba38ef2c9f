// SPDX-License-Identifier: Apache-2.0

public import Dispatch

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
