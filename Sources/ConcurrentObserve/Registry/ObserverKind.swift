// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// One of the lists in which a source keeps its observers.
///
/// Each list has its own table, which is made with the first observer.
@usableFromInline
internal enum ObserverListIndex: UInt32, Sendable { case callbacks, mailboxes, links }

/// A kind of observers: the list in which a source keeps them, and the type of their content (the
/// closure or the object that each observer holds).
///
/// All code that makes, stores and walks the observers of a list uses the list's kind. The compiler
/// therefore knows the type of the content: a `Callback`, or an object.
@usableFromInline
internal struct ObserverKind<Content: ~Copyable>: Sendable {
    @usableFromInline let list: ObserverListIndex

    @inlinable @inline(__always)
    init(_ list: ObserverListIndex) { self.list = list }
}

extension ObserverKind where Content: ~Copyable {
    /// The kind of the observers that hold a closure, which is called with each event.
    @inlinable @inline(__always)
    static func callbacks<Event>() -> ObserverKind where Content == Callback<Event> { ObserverKind(.callbacks) }

    /// The kind of the observers that hold a mailbox, which receives the events.
    @inlinable @inline(__always)
    static func mailboxes<Event>() -> ObserverKind where Content == HeldObject<EventReceiver<Event>> {
        ObserverKind(.mailboxes)
    }
}

/// An object as the content of an observer.
///
/// It has the size of a closure, and its reference is in the place where a closure has its context.
/// An object and a closure are therefore released in the same way when an observation ends.
@usableFromInline
internal struct HeldObject<Object: AnyObject>: ~Copyable {
    private let unused: UInt = 0
    private let object: Object

    @usableFromInline
    init(_ object: Object) { self.object = object }
}

/// An observer during a walk over a table: the hazard pointer `current` of the thread's frame names
/// the observer.
@safe @usableFromInline
internal struct LentObserver<Content: ~Copyable>: ~Copyable {
    @usableFromInline let address: UInt

    @inlinable @inline(__always)
    init(at address: UInt) { self.address = address }
}

/// An observer that holds a mailbox, during a walk over a table.
@usableFromInline
internal typealias LentMailbox<Event: Sendable> = LentObserver<HeldObject<EventReceiver<Event>>>

extension LentObserver where Content: ~Copyable {
    @inlinable @inline(__always)
    var mark: ObserverMark { Observer.mark(at: address) }

    /// The version of the source when the observation began.
    @inlinable @inline(__always)
    var since: UInt64 { VersionedObserver.since(at: address) }

    /// Calls the observer's closure.
    @inlinable @inline(__always)
    borrowing func call<Event>(with event: Event) where Content == Callback<Event> {
        Observer.call(at: address, with: event)
    }

    /// Calls `body` with the object that the observer holds. No reference is counted.
    @inlinable @inline(__always)
    borrowing func withObject<Object: AnyObject>(
        _ body: (Object) -> Void
    ) where Content == HeldObject<Object> {
        // Safe: the frame that names the observer in `current` keeps the object alive, and the pin
        // keeps the observer. The reference is the second word of the content.
        unsafe UnsafePointer<Unmanaged<Object>>(bitPattern: address &+ UInt(Observer.objectOffset))
            .unsafelyUnwrapped.pointee._withUnsafeGuaranteedRef { body($0) }
    }
}

/// The low bits of the word that has the address of the callbacks' table (`ObserverList.head`).
/// They say which other observers a source may have, and whether that table is large.
///
/// The bits are written under the lock of the source's `RegistryCore`, and read without it. A
/// reader sees the hint for an observer whose registration happened before. It may miss an observer
/// that is registered at the same time, which P1 allows.
@usableFromInline
internal enum ListHints {
    /// The source may have mailboxes.
    @inlinable static var mailboxes: UInt { 1 }
    /// The source may have links: observers of paths that lead on from a property, and of derived
    /// values that depend on it.
    @inlinable static var links: UInt { 2 }
    /// The source may have observers whose mark is `flagged`.
    @inlinable static var flagged: UInt { 4 }

    /// The callbacks' table is large: the table and the memory that its closures read exceed the
    /// processor's caches.
    @inlinable static var large: UInt { 8 }

    /// All hint bits. A table is allocated at a multiple of sixteen, so these bits of its address
    /// are 0.
    @inlinable static var mask: UInt { 15 }
}

extension ObserverList {
    /// Whether the source may have observers, in any list.
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
