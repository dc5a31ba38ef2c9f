// SPDX-License-Identifier: Apache-2.0

/// An observer's closure, in memory that a notification borrows: calling it counts no reference.
/// (P15)
@usableFromInline
internal struct Callback<Event>: ~Copyable {
    @usableFromInline let body: @Sendable (Event) -> Void

    @inlinable @inline(__always)
    init(_ body: consuming @escaping @Sendable (Event) -> Void) { self.body = body }

    @inlinable @inline(__always)
    borrowing func callAsFunction(_ event: Event) { body(event) }
}

extension Callback {
    /// A closure that is called with its owner, and that ends its observation instead once the
    /// owner's `deinit` has begun. (P13)
    ///
    /// - Parameter tally: Where it counts the event that it drops then.
    @inlinable
    static func bound<Owner: AnyObject & Sendable>(
        to reference: WeakReference,
        of observer: Observer,
        _ tally: EventTally?,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> Callback {
        let handle = ObservationHandle(observer)
        return Callback { event in
            guard let owner = reference.object(as: Owner.self) else { return handle.endWithOwner(tally) }
            body(owner, event)
        }
    }
}

extension ObservationHandle {
    /// Ends the observation because its owner is gone.
    ///
    /// - Parameter tally: Where the event counts as dropped that the owner does not receive.
    @usableFromInline
    internal func endWithOwner(_ tally: EventTally?) {
        observer.end(.ownerDeleted)
        tally?.countDropped(1)
    }
}

/// Room for what an observer of any kind holds: a `Callback` or a `HeldObject`. Every closure is a
/// code pointer and a context, for any parameters.
@usableFromInline
internal struct ContentStorage {
    var first: UInt = 0
    private var reference: UInt = 0

    @usableFromInline
    init() {}
}
