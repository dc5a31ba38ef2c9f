// SPDX-License-Identifier: Apache-2.0

/// The counts and the mailbox of an observation that is not called inline.
internal final class DeliveryState: ObservationCompanion, @unchecked Sendable {
    // Unchecked: constants only.
    let counter: DeliveryCounter
    /// The mailbox that a flush waits for. Nil for an iterator, whose sequence flushes it, and
    /// after the end.
    let mailbox: (any FlushableMailbox)?

    init(_ counter: DeliveryCounter, _ mailbox: (any FlushableMailbox)? = nil) {
        (self.counter, self.mailbox) = (counter, mailbox)
        super.init()
    }
}

extension Observer {
    /// The delivery of the observation; nil if inline.
    var delivery: DeliveryState? { companion as? DeliveryState }
}
