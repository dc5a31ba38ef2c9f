// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension MutationLock {
    /// Whether a thread holds it.
    @usableFromInline
    var isHeld: Bool {
        guard lock.tryLock() else { return true }
        lock.unlock()
        return false
    }

    borrowing func clearsModifierWrongly(_ modifier: borrowing Atomic<UInt>) -> Bool {
        if mutant(.aBodyRunsOutsideTheLock) { lock.lock() }
        if mutant(.aBodyLooksForRegistrationsTooEarly) {
            looksThenClearsModifier(modifier)
            return true
        }
        guard mutant(.aBodyDoesNotWaitForRegistrations) else { return false }
        modifier.store(0, ordering: .relaxed)
        return true
    }

    private borrowing func looksThenClearsModifier(_ modifier: borrowing Atomic<UInt>) {
        let isHeld = bodyLock.isHeld
        inject("modify.ending")
        modifier.store(0, ordering: .relaxed)
        if isHeld { bodyLock.withLock {} }
    }
}
