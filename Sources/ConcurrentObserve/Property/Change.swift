// SPDX-License-Identifier: Apache-2.0

/// What an observer of a property is told.
///
/// Inline callbacks of one observer may overlap and overtake each other on several threads; `version` tells which change is
/// the later one. (P2)
public struct Change<Value: Sendable>: Sendable {
    /// Why the observer is called.
    public let reason: ChangeReason

    /// The value before the change, or the last one of a property that is gone; nil unless `.old` was asked for, and in the
    /// initial delivery.
    public let old: Value?

    /// The value after the change, or at the registration; nil unless `.new` was asked for, in a prior delivery, and at the end.
    public let new: Value?

    /// Whether the change is still to come: `.prior` was asked for.
    public let isPrior: Bool

    /// The number of the change: 1, 2, 3, … without gaps; `old` of the next is `new` of this one. (P2)
    ///
    /// The initial delivery has that of the present value, 0 before the first change; a prior one that of the value it
    /// carries; the end that of the last value.
    public let version: UInt64

    @inlinable
    internal init(reason: ChangeReason, old: Value?, new: Value?, isPrior: Bool = false, version: UInt64) {
        self.reason = reason
        self.old = old
        self.new = new
        self.isPrior = isPrior
        self.version = version
    }
}

extension Change: Equatable where Value: Equatable {}

/// One change in the forms that its observers have asked for: each is made once, for the first who wants it, and lent to the others, so
/// that telling them counts no reference. (P15)
@usableFromInline
internal struct ChangeForms<Value: Sendable>: ~Copyable {
    @usableFromInline let full: Form
    @usableFromInline var withNew: Form?
    @usableFromInline var withOld: Form?
    @usableFromInline var bare: Form?

    /// Not copyable: what is lent is not copied first.
    @usableFromInline
    struct Form: ~Copyable {
        @usableFromInline let change: Change<Value>

        @inlinable
        init(_ change: Change<Value>) { self.change = change }

        @inlinable @inline(__always)
        borrowing func call(_ address: UInt) { Observer.call(at: address, with: change) }
    }

    @inlinable
    init(_ full: Change<Value>) { self.full = Form(full) }

    /// Calls the observer at `address`, whose mark is `state`, with what it wants to hear.
    @inlinable @inline(__always)
    mutating func call(_ address: UInt, state: UInt32) {
        // Tests, most frequent first: a switch becomes a jump through a table.
        if state & ObserverState.hearsNew != 0 {
            if state & ObserverState.hearsOld != 0 || mutant("all hear old and new") { return full.call(address) }
            if withNew == nil { withNew = Form(full.change.without(old: true, new: false)) }
            withNew!.call(address)
        } else if state & ObserverState.hearsOld != 0 {
            if withOld == nil { withOld = Form(full.change.without(old: false, new: true)) }
            withOld!.call(address)
        } else {
            if bare == nil { bare = Form(full.change.without(old: true, new: true)) }
            bare!.call(address)
        }
    }
}

extension Change {
    /// Calls the observer at `address` alone, if it is live, with what it wants to hear. The caller holds the observer.
    @inlinable @inline(__always)
    internal func tell(_ address: UInt) {
        Observer.visit(at: address) { address in
            let state = Observer.state(at: address)
            let (old, new) = (state & ObserverState.hearsOld != 0, state & ObserverState.hearsNew != 0)
            Observer.call(at: address, with: old && new ? self : without(old: !old, new: !new))
        }
    }

    /// The change, seen as one of other values.
    @inlinable
    internal func map<Other>(_ transform: (Value) -> Other) -> Change<Other> {
        Change<Other>(
            reason: reason,
            old: old.map(transform),
            new: new.map(transform),
            isPrior: isPrior,
            version: version
        )
    }

    @inlinable
    internal func without(old dropsOld: Bool, new dropsNew: Bool) -> Change {
        Change(
            reason: reason,
            old: dropsOld ? nil : old,
            new: dropsNew ? nil : new,
            isPrior: isPrior,
            version: version
        )
    }
}
