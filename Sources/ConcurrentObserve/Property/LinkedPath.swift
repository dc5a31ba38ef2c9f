// SPDX-License-Identifier: Apache-2.0

/// An observation of a path, as the properties on the way know it: what an observer of the links'
/// kind holds.
@usableFromInline
internal class LinkedPath: SourceWitness, @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    override init() {}

    /// Relinks the path, one of whose links has changed: it looks for itself which, and to what
    /// value.
    ///
    /// - Parameter deferred: Receives what the path's observers are to be notified of.
    @usableFromInline
    func linkHasChanged(_ deferred: inout LinkDeliveries) { fatalError("a path relinks itself") }
}

extension ObserverList {
    /// Has all paths that lead through this property relinked. No observer is called meanwhile.
    ///
    /// - Returns: What is left to notify the paths' observers of.
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
