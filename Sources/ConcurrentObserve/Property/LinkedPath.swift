// SPDX-License-Identifier: Apache-2.0

/// An observation of a path, as the properties on the way know it. Each observer in their lists of
/// links holds one.
@usableFromInline
internal class LinkedPath: SourceWitness, @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    override init() {}

    /// Relinks the path after a change of one of its links. The path finds out which one, and its
    /// value.
    ///
    /// - Parameter deferred: Receives the deliveries to the path's observers.
    @usableFromInline
    func linkHasChanged(_ deferred: inout LinkDeliveries) { fatalError("a path relinks itself") }
}

extension ObserverList {
    /// Relinks all paths that lead through this property, and collects the derived values that
    /// depend on it. Calls no observer.
    ///
    /// - Returns: The deliveries to the observers of the paths and the derived values.
    @usableFromInline @inline(never)
    internal borrowing func relinkPaths(version: UInt64) -> LinkDeliveries {
        var deferred = LinkDeliveries()
        walk(.links()) { (link: borrowing LentObserver<HeldObject<LinkedPath>>) in
            guard link.since < version else { return }
            link.withObject { path in path.linkHasChanged(&deferred) }
        }
        deferred.releaseKept()
        return deferred
    }
}
