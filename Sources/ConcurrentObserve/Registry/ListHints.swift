// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What a source has beside observers in its first list: the low bits of the word in which walkers
/// find the first list's table.
///
/// Written under the core's lock, with that word. Read without: an observer that was registered
/// before is seen, because that happened before. One that is registered meanwhile may be missed,
/// which is its right. (P1)
@usableFromInline
internal enum ListHints {
    /// The second list may have observers: mailboxes.
    @inlinable static var second: UInt { 1 }
    /// The third list may have observers.
    @inlinable static var third: UInt { 2 }
    /// Observers may be `flagged`.
    @inlinable static var flagged: UInt { 4 }

    /// The first list's table is large: with what its closures read it takes more than the
    /// processor's caches.
    @inlinable static var large: UInt { 8 }

    /// The bits of an address that are hints: tables are allocated at multiples of sixteen.
    @inlinable static var mask: UInt { 15 }
}

extension ObserverList {
    /// Whether there may be observers, in any list.
    @inlinable @inline(__always)
    internal var isPossiblyObserved: Bool {
        // Relaxed: a hint.
        head.load(ordering: .relaxed) != 0
    }

    /// Whether there may be what one of these bits says.
    @inlinable @inline(__always)
    internal borrowing func mayHave(_ hints: UInt) -> Bool {
        // Relaxed: a hint. What hangs below is loaded with an acquire.
        head.load(ordering: .relaxed) & hints != 0
    }
}
