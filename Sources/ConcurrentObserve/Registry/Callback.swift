// SPDX-License-Identifier: Apache-2.0

/// An observer's closure, in memory that a notification borrows. Calling it counts no reference.
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
    /// Returns a closure that calls `body` with the owner. Once the owner's `deinit` has begun, it
    /// ends its observation instead. (P13)
    ///
    /// - Parameter tally: Counts the event that the closure then drops.
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
    /// - Parameter tally: Counts the event that the owner does not receive as dropped.
    @usableFromInline
    internal func endWithOwner(_ tally: EventTally?) {
        observer.end(.ownerDeleted)
        tally?.countDropped(1)
    }
}

/// Storage for the content of an observer of any kind: a `Callback` or a `HeldObject`. Every
/// closure is a code pointer and a context, whatever its parameters.
@usableFromInline
internal struct ContentStorage {
    var first: UInt = 0
    private var reference: UInt = 0

    @usableFromInline
    init() {}
}
