// SPDX-License-Identifier: Apache-2.0

extension SharedMailbox {
    /// Whether a delivery empties the mailbox, and no iterator.
    @usableFromInline
    final var isDelivery: Bool { self is OrderedObservation<Event> }

    @usableFromInline
    final func waitUntilIdle() {
        while isDelivery, withMailbox({ if case .busy = $0.consumer { true } else { false } }) {}
    }
}

extension OrderedObservation {
    @usableFromInline
    final func parkLate() {
        inject("mailbox.woken")
        withMailbox { $0.park() }
    }

    /// Calls the closure of an observation that has ended.
    @usableFromInline
    final func deliverAfterTheEnd(_ call: (UInt, Event) -> Void) {
        guard mutant(.queuedChangesAreDeliveredAfterTheEnd) else { return }
        if let event = withMailbox({ _ in withBatch { $0.popFirst() } }) { call(address, event) }
    }
}
