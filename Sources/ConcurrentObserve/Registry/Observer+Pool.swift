// SPDX-License-Identifier: Apache-2.0

import Synchronization

// Plain observers are recycled: see `ObserverPool`.
extension Observer {
    /// Returns a recycled observer, which the caller must pass to `renew`; nil if the pool is
    /// empty.
    ///
    /// - Parameter isOneOfMany: Whether to fill an empty pool with new observers, because the core
    ///   has tens of thousands of observers. If new observers were made one by one, they and their
    ///   tokens would lie between the contexts of the closures. A notification, which reads the
    ///   contexts in order, would then fetch twice as much memory.
    @inline(__always)
    static func recycled(isOneOfMany: Bool) -> Observer? {
        guard let item = ObserverPool.take() ?? (isOneOfMany ? ObserverPool.fill(makeForPool) : nil) else { return nil }
        // Safe: the pool contains only observers, each with a reference.
        let observer = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: item.address)!)
            .takeRetainedValue()
        let token = observer.knownMark.contains(.unused) ? observer.borrowedContent.first : 0
        observer.link = token
        return observer
    }

    /// Makes a new observer and its token for the pool. The first word of the observer's content
    /// has the token's address, and owns a reference to the token.
    private static func makeForPool() -> RetiredItem {
        let observer = Observer()
        // Safe, both: addresses, and the references that belong to them; the observer has no other
        // content.
        unsafe observer.content.first = UInt(bitPattern: Unmanaged.passRetained(ObservationToken(observer)).toOpaque())
        return unsafe RetiredItem(at: UInt(bitPattern: Unmanaged<Retirable>.passRetained(observer).toOpaque()))
    }

    /// Returns the token that was made with the observer, if it was made for the pool. Must be
    /// called once, before the observer is published. After that, `link` is for the list of retired
    /// items.
    final func takeToken() -> ObservationToken? {
        if link == 0 { return nil }
        // Safe: `recycled` has stored the address there, with the reference.
        let token = unsafe Unmanaged<ObservationToken>.fromOpaque(UnsafeRawPointer(bitPattern: link)!)
        link = 0
        return unsafe token.takeRetainedValue()
    }

    /// Initializes a recycled or new observer, which has no closure and no owner. `entry` is the
    /// result of `enter` or `enterAhead`.
    @inline(__always)
    final func renew(_ entry: (mark: ObserverMark, home: UInt)) {
        index = 0
        // Relaxed, both: published with the observer.
        mark.store(entry.mark.rawValue | ObserverMark.beginning.rawValue, ordering: .relaxed)
        home.store(entry.home, ordering: .relaxed)
    }

    /// Counts the references that the table and the retirement will own, in one step. The
    /// registration, which must follow, counts the observer in the core.
    ///
    /// - Returns: The initial values of the observer's `mark` and `home`.
    @inline(__always)
    final func enterAhead(_ core: Unmanaged<RegistryCore>) -> (mark: ObserverMark, home: UInt) {
        retainUnshared(2)
        // Safe: an address only; the caller has the source, which keeps the core.
        return unsafe (.isCountedAhead, UInt(bitPattern: core.toOpaque()))
    }

    /// Releases a reference. If it was the last reference, the observer goes to the pool, unless it
    /// is a `VersionedObserver` or has not finished.
    static func recycle(_ reference: Unmanaged<Retirable>) {
        // Safe: the caller's reference, which ends here; every instance of this class is an
        // observer.
        var observer = unsafe unsafeDowncast(reference.takeRetainedValue(), to: Observer.self)
        if observer.knownMark.contains(.unused) {
            // The thread whose pool had the observer exits. Releasing the token, which owns a
            // reference to the observer, frees both.
            observer.link = observer.borrowedContent.first
            _ = observer.takeToken()
            return
        }
        guard isUnique(&observer),
            observer.isFinished, !observer.knownMark.contains(.versioned)
        else { return }
        // Acquire: pairs with the releases by which the other threads have released their
        // references.
        atomicMemoryFence(ordering: .acquiring)
        observer.leaveCore()
        let kept = unsafe Unmanaged<Retirable>.passRetained(consume observer)
        if unsafe !ObserverPool.keep(RetiredItem(at: UInt(bitPattern: kept.toOpaque()))) { unsafe kept.release() }
    }

    private static func isUnique(_ observer: inout Observer) -> Bool {
        return isKnownUniquelyReferenced(&observer)
    }
}
