// SPDX-License-Identifier: Apache-2.0

/// What observers of paths are to be told when a property has changed that the paths lead through.
///
/// First every such path is wired anew, then their observers are told, then those of the property: a callback that blocks, whosever it
/// is, never stands between a change and the paths that it moves. (P7)
///
/// A path that ended at the property, too, hears the change itself as one of the property's
/// observers, and after that, from the same thread, where it leads now: the versions come in order.
/// (P2)
@usableFromInline
internal final class Rewirings {
    private var tellings: [() -> Void] = []
    private var lateTellings: [() -> Void] = []

    /// Puts a telling off, if paths are being wired on this thread; otherwise does it.
    ///
    /// - Parameter isLate: It is done after the property's own observers have been told.
    static func tell(isLate: Bool, _ telling: @escaping () -> Void) {
        guard let rewirings = current else { return telling() }
        rewirings.put(telling, isLate: isLate)
    }

    /// Where the tellings of this thread are put, if paths are being linked on it.
    private static var current: Rewirings? {
        #if INSTRUMENTED
        if mutant(.pathsAreNotifiedWhileOthersAreRelinked) { return nil }
        #endif
        return ThreadRecord.deferral as? Rewirings
    }

    private func put(_ telling: @escaping () -> Void, isLate: Bool) {
        #if INSTRUMENTED
        if mutant(.aPathsNewValueArrivesBeforeItsCause) { return tellings.append(telling) }
        #endif
        if isLate { lateTellings.append(telling) } else { tellings.append(telling) }
    }

    /// Puts off what `wiring` has to tell. No callback of an observer runs in it.
    func collect(_ wiring: () -> Void) { ThreadRecord.withDeferral(self, wiring) }

    /// Does what was put off, but for what comes late.
    func tell() { for telling in tellings { telling() } }

    /// Does the rest.
    @usableFromInline
    func tellLate() { for telling in lateTellings { telling() } }
}

extension ObserverList {
    /// Has all paths that lead through this property wired anew, then tells their observers.
    ///
    /// A link is told nothing more: it looks for itself, and the value's type is not its concern.
    ///
    /// - Returns: What is left to tell after the property's observers.
    @usableFromInline @inline(never)
    internal borrowing func rewirePaths(version: UInt64) -> Rewirings {
        let rewirings = Rewirings()
        rewirings.collect {
            walk { observer in
                guard Observer.state(at: observer) & ObserverState.isLink != 0,
                    VersionedObserver.since(at: observer) < version
                else { return }
                Observer.call(at: observer, with: ())
            }
        }
        rewirings.tell()
        return rewirings
    }
}
