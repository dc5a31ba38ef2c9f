// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The low bits of the word that has the address of the first list's table. They say which other
/// observers a source may have.
///
/// Written under the core's lock, with that word; read without it. A reader sees an observer whose
/// registration happened before. It may miss an observer that is registered at the same time, which
/// P1 allows.
@usableFromInline
internal enum ListHints {
    /// The second list may have observers: mailboxes.
    @inlinable static var second: UInt { 1 }
    /// The third list may have observers.
    @inlinable static var third: UInt { 2 }
    /// Observers may be `flagged`.
    @inlinable static var flagged: UInt { 4 }

    /// The first list's table is large: the table and the memory that its closures read exceed the
    /// processor's caches.
    @inlinable static var large: UInt { 8 }

    /// The hint bits of an address. Tables are allocated at multiples of sixteen.
    @inlinable static var mask: UInt { 15 }
}

extension ObserverList {
    /// Whether there may be observers, in any list.
    @inlinable @inline(__always)
    internal var isPossiblyObserved: Bool {
        // Relaxed: a hint.
        head.load(ordering: .relaxed) != 0
    }

    /// Whether at least one of these hints is set.
    @inlinable @inline(__always)
    internal borrowing func mayHave(_ hints: UInt) -> Bool {
        // Relaxed: a hint. The tables of the lists are loaded with an acquire.
        head.load(ordering: .relaxed) & hints != 0
    }
}
