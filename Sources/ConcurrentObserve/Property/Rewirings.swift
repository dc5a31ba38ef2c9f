// SPDX-License-Identifier: Apache-2.0

/// What observers of paths are to be told when a property has changed that the paths lead through.
///
/// First every such path is wired anew, then their observers are told, then those of the property: a callback that blocks, whosever it
/// is, never stands between a change and the paths that it moves. (P7)
internal final class Rewirings {
    private var tellings: [() -> Void] = []

    /// Puts a telling off, if paths are being wired on this thread; otherwise does it.
    static func tell(_ telling: @escaping () -> Void) {
        if let rewirings = ThreadRecord.deferral as? Rewirings, !mutant("paths are told while others are wired") {
            rewirings.tellings.append(telling)
        } else {
            telling()
        }
    }

    /// Puts off what `wiring` has to tell. No callback of an observer runs in it.
    func collect(_ wiring: () -> Void) { ThreadRecord.withDeferral(self, wiring) }

    /// Does what was put off.
    func tell() { for telling in tellings { telling() } }
}

extension ObserverList {
    /// Has all paths that lead through this property wired anew, then tells their observers.
    ///
    /// A link is told why it is called, and nothing more: it looks for itself, and the value's type is not its concern.
    @usableFromInline @inline(never)
    internal borrowing func rewirePaths(version: UInt64) {
        let rewirings = Rewirings()
        rewirings.collect {
            walk { observer in
                guard Observer.state(at: observer) & ObserverState.isLink != 0,
                    VersionedObserver.since(at: observer) < version
                else { return }
                Observer.call(at: observer, with: ChangeReason.valueChanged)
            }
        }
        rewirings.tell()
    }
}
