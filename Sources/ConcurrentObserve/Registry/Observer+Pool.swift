// SPDX-License-Identifier: Apache-2.0

import Synchronization

// A plain observer is recycled: see `ObserverPool`.
extension Observer {
    /// A recycled observer of a core, without closure and owner; nil if the pool is empty.
    static func recycled(core: borrowing RegistryCore) -> Observer? {
        guard let item = ObserverPool.take() else { return nil }
        // Safe: the pool keeps nothing but observers.
        let observer = unsafe unsafeDowncast(item.take(), to: Observer.self)
        observer.renew(core: core)
        return observer
    }

    private final func renew(core: borrowing RegistryCore) {
        let entry = Self.enter(core)
        index = 0
        // Relaxed, both: published with the observer.
        mark.store(entry.mark.rawValue | ObserverMark.active.rawValue, ordering: .relaxed)
        home.store(entry.home, ordering: .relaxed)
    }

    /// Releases a reference. If it was the last one, the observer goes to the pool.
    static func recycle(_ reference: Unmanaged<Retirable>) {
        // Safe: the caller's reference, which ends here; every instance of this class is an
        // observer.
        var observer = unsafe unsafeDowncast(reference.takeRetainedValue(), to: Observer.self)
        guard isUnique(&observer),
            observer.isFinished, !observer.knownMark.contains(.versioned)
        else { return }
        // Acquire: pairs with the releases in which the others have released their references.
        atomicMemoryFence(ordering: .acquiring)
        observer.leaveCore()
        let kept = unsafe Unmanaged<Retirable>.passRetained(consume observer)
        if unsafe !ObserverPool.keep(RetiredItem(at: UInt(bitPattern: kept.toOpaque()))) { unsafe kept.release() }
    }

    private static func isUnique(_ observer: inout Observer) -> Bool {
        #if INSTRUMENTED
        if mutant(.anObserverIsRecycledTooEarly) { return true }
        #endif
        return isKnownUniquelyReferenced(&observer)
    }
}
