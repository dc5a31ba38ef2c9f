// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// Ends every observation of this object, as if each was cancelled: those of its observed properties and registries, and those of paths
    /// that begin here. Any thread, also inside a callback. (P8)
    ///
    /// The properties are found by reflection among the stored members of `observedProperties`, all of which are read: an object with
    /// variables that a lock of its own guards must not be changing meanwhile.
    ///
    /// - Complexity: O(members and observers).
    public func removeAllObservers() {
        var mirror: Mirror? = Mirror(reflecting: observedProperties)
        while let present = mirror {
            for member in present.children { (member.value as? any AnyObserved)?.removeAllObserversAndPaths() }
            mirror = present.superclassMirror
        }
    }
}

extension ObservationToken {
    /// Ends every observation that was registered with `owner`, whatever it observes, as if each was cancelled. Any thread, also inside
    /// a callback. (P8)
    ///
    /// - Complexity: O(observers of the sources that have owner-bound ones).
    public static func cancelAll(ownedBy owner: AnyObject) { OwnerWatch.removeAll(boundTo: ObjectIdentifier(owner)) }
}
