// SPDX-License-Identifier: Apache-2.0

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

// The third kind, `links()`, is in the room Property.
extension ObserverKind where Content: ~Copyable {
    /// The kind of the observers that hold a closure, which is called with each event.
    @inlinable @inline(__always)
    static func callbacks<Event>() -> ObserverKind where Content == Callback<Event> { ObserverKind(.callbacks) }

    /// The kind of the observers that hold an `EventReceiver`. Most of these belong to a mailbox.
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
