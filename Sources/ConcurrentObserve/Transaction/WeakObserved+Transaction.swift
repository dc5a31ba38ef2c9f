// SPDX-License-Identifier: Apache-2.0

extension Transaction {
    /// The draft of a weak property that is a member. Reading it returns the object that the body
    /// has set, or else the present one, which is nil once its `deinit` has begun. Setting it makes
    /// a change; the commit holds the object until the observers have been called. Traps if the
    /// property is neither a member of the group nor read by the commit. Setting also traps if the
    /// commit only reads the property.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Referent: WeaklyObservable>(_ property: WeakObserved<Referent>) -> Referent? {
        get { self[property.storage].referent }
        nonmutating set {
            self[property.storage] = property.watchedBox(newValue)
            // Safe: only the body's thread uses the drafts.
            unsafe draft(of: property.storage.cell.source).pointee.keep(newValue)
        }
    }
}

extension Draft {
    /// Keeps the object to which a weak property will refer, instead of the one that the draft kept
    /// before. In the body.
    ///
    /// Otherwise the object could die before the commit is published, and its end would not make the
    /// property nil, which does not refer to it yet. (P12)
    mutating func keep(_ referent: (some AnyObject)?) {
        releaseKept()
        // Safe: releaseKept() takes the reference.
        unsafe kept = referent.map { unsafe Unmanaged.passRetained($0).toOpaque() }
    }

    /// Releases the object. This may be the last reference. Under no lock, or in the body.
    mutating func releaseKept() {
        guard let referent = unsafe kept else { return }
        unsafe kept = nil
        // Safe: keep(_:) has retained it.
        ThreadRecord.withUserCode { unsafe Unmanaged<AnyObject>.fromOpaque(referent).release() }
    }
}

extension WeakObserved: MemberHolding {
    func addMembers(to found: inout FoundMembers) { storage.addMembers(to: &found) }
}
