// SPDX-License-Identifier: Apache-2.0

import Synchronization

// A plain observer is recycled: see `ObserverPool`.
extension Observer {
    /// A recycled observer, which `renew` makes one of a core's; nil if the pool is empty.
    ///
    /// - Parameter isOneOfMany: Fills an empty pool with new observers. The core has tens of
    ///   thousands: made one by one, they and their tokens would lie between the contexts of the
    ///   closures, and a notification, which reads those in order, would fetch twice as much
    ///   memory.
    @inline(__always)
    static func recycled(isOneOfMany: Bool) -> Observer? {
        guard let item = ObserverPool.take() ?? (isOneOfMany ? ObserverPool.fill(makeForPool) : nil) else { return nil }
        // Safe: the pool keeps nothing but observers, each with a reference.
        let observer = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: item.address)!)
            .takeRetainedValue()
        let token = observer.knownMark.contains(.unused) ? observer.borrowedContent.first : 0
        observer.link = token
        return observer
    }

    /// A new observer, as the pool keeps it, with its token: the first word of what it holds has
    /// the token's address, and owns a reference.
    private static func makeForPool() -> RetiredItem {
        let observer = Observer()
        // Safe, both: addresses, and the references that belong to them; the observer holds nothing
        // else.
        unsafe observer.content.first = UInt(bitPattern: Unmanaged.passRetained(ObservationToken(observer)).toOpaque())
        return unsafe RetiredItem(at: UInt(bitPattern: Unmanaged<Retirable>.passRetained(observer).toOpaque()))
    }

    /// The token that was made with the observer, if it was made for the pool. Once, before the
    /// observer is published: from then on the link is for the list of the retired.
    final func takeToken() -> ObservationToken? {
        if link == 0 { return nil }
        // Safe: `recycled` has moved the address there, with the reference.
        let token = unsafe Unmanaged<ObservationToken>.fromOpaque(UnsafeRawPointer(bitPattern: link)!)
        link = 0
        return unsafe token.takeRetainedValue()
    }

    /// Makes a recycled or a new observer, without closure and owner, one of a core's, which the observer has entered.
    @inline(__always)
    final func renew(_ entry: (mark: ObserverMark, home: UInt)) {
        index = 0
        // Relaxed, both: published with the observer.
        mark.store(entry.mark.rawValue | ObserverMark.beginning.rawValue, ordering: .relaxed)
        home.store(entry.home, ordering: .relaxed)
    }

    /// Counts the references of the table and of the retirement, in one step; the registration, which follows, counts the observer of the
    /// core.
    ///
    /// - Returns: What its mark and its home begin with.
    @inline(__always)
    final func enterAhead(_ core: Unmanaged<RegistryCore>) -> (mark: ObserverMark, home: UInt) {
        retainUnshared(2)
        // Safe: an address only; the caller has the source, which keeps the core.
        return unsafe (.isCountedAhead, UInt(bitPattern: core.toOpaque()))
    }

    /// Releases a reference. If it was the last one, the observer goes to the pool.
    static func recycle(_ reference: Unmanaged<Retirable>) {
        // Safe: the caller's reference, which ends here; every instance of this class is an
        // observer.
        var observer = unsafe unsafeDowncast(reference.takeRetainedValue(), to: Observer.self)
        if observer.knownMark.contains(.unused) {
            // Its thread exits. The token keeps the observer.
            observer.link = observer.borrowedContent.first
            _ = observer.takeToken()
            return
        }
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
        return isKnownUniquelyReferenced(&observer)
    }
}
