// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension OrderedObservation {
    @usableFromInline
    final func waitUntilIdle() { while withGuarded({ $0.isBusy }) {} }

    @usableFromInline
    final func clearBusyLate() {
        inject("mailbox.woken")
        withGuarded { $0.isBusy = false }
    }
}
#endif
