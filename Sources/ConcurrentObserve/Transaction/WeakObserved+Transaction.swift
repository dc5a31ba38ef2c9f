// SPDX-License-Identifier: Apache-2.0

extension Transaction {
    /// The draft of a weak property that is a member: the object that the body has set, or else the present one, nil once its `deinit` has
    /// begun. Setting it makes a change; the commit holds the object until the observers have been called. Traps if the property is no
    /// member of the group, and when the body sets one that the commit only reads.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Referent: WeaklyObservable>(_ property: WeakObserved<Referent>) -> Referent? {
        get { self[property.storage].referent }
        nonmutating set {
            self[property.storage] = property.watchedBox(newValue)
            // Safe: the body's thread alone uses the drafts.
            unsafe draft(of: property.storage.cell.source).pointee.keep(newValue)
        }
    }
}

extension Draft {
    /// Keeps the object that a weak property is to refer to, instead of the one before. In the body.
    ///
    /// An object that died before the commit is published would not find the property that refers to it. (P12)
    mutating func keep(_ referent: (some AnyObject)?) {
        releaseKept()
        // Safe: releaseKept() takes the reference.
        unsafe kept = referent.map { unsafe Unmanaged.passRetained($0).toOpaque() }
    }

    /// Releases the object, which may be the last reference. Under no lock, or in the body.
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
