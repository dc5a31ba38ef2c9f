// SPDX-License-Identifier: Apache-2.0

/// What belongs to an observation that is not called inline: its counts, and its mailbox.
internal final class DeliveryState: ObservationCompanion, @unchecked Sendable {
    // Unchecked: constants only.
    let counter: DeliveryCounter
    /// What a flush waits for; nil where the iterators' own mailboxes are, and after the end.
    let mailbox: (any FlushableMailbox)?

    init(_ counter: DeliveryCounter, _ mailbox: (any FlushableMailbox)? = nil) {
        (self.counter, self.mailbox) = (counter, mailbox)
        super.init()
    }
}

extension Observer {
    /// How the observation is delivered; nil if inline.
    var delivery: DeliveryState? { companion as? DeliveryState }
}
