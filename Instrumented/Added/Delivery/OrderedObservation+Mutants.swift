// SPDX-License-Identifier: Apache-2.0

extension OrderedObservation {
    @usableFromInline
    final func waitUntilIdle() { while withGuarded({ $0.isBusy }) {} }

    @usableFromInline
    final func clearBusyLate() {
        inject("mailbox.woken")
        withGuarded { $0.isBusy = false }
    }

    /// Calls the closure of an observation that has ended.
    @usableFromInline
    final func deliverAfterTheEnd(_ call: (UInt, Event) -> Void) {
        guard mutant(.queuedChangesAreDeliveredAfterTheEnd) else { return }
        if let event = withGuarded({ _ in withBatch { $0.popFirst() } }) { call(address, event) }
    }
}
