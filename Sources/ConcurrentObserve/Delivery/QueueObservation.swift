// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Events are delivered on a dispatch queue, one at a time: many to a block.
@usableFromInline
internal final class QueueObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: no state of its own but constants.
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
            // Others want the queue, too.
            if !deliver(self, eventsPerJob) { begin() }
        }
    }
}

/// So many events at most are delivered before other jobs run on the same queue or actor.
@usableFromInline
internal var eventsPerJob: Int { 256 }
