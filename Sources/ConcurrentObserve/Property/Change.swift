// SPDX-License-Identifier: Apache-2.0

/// The reason why an observer of a property, or of a path, is called.
public enum ChangeReason: Sendable, Equatable {
    /// The observation begins, and the observer receives the present value. (P4)
    case initial
    /// A change is about to be made, and the observer has asked for `.prior`. It receives the value
    /// before the change.
    case prior
    /// The property was set, perhaps to an equal value.
    case valueChanged
    /// An earlier step of the path was replaced, so that the path leads to another property, or to
    /// none. `depth` is the index of that step: 0 for the property of the path's root.
    case pathChanged(depth: Int)
}

/// A delivery to an observer of a property: a change, the initial value, or the value before a
/// change.
///
/// Inline callbacks of one observer may overlap and overtake each other on several threads;
/// `version` says which change is the later one. (P2)
public struct Change<Value: Sendable>: Sendable {
    /// Why the observer is called.
    public let reason: ChangeReason

    /// The value before the change. If a buffering policy dropped earlier changes, `old` is the
    /// value that the observer received last. With the policy `droppingNewest`, this is so only
    /// behind a filter, such as `removingDuplicates()`: without one, `old` is the value directly
    /// before the change.
    ///
    /// The value is nil in the initial delivery, in a prior delivery, and in the first change after
    /// an initial delivery that was dropped. (P2)
    public let old: Value?

    /// The value after the change. In the initial delivery and in a prior delivery, it is the
    /// present value.
    public let new: Value

    /// The number of the change: 1, 2, 3, …, without gaps. The change with the next number has the
    /// `new` value of this change as its `old` value. (P2)
    ///
    /// The initial delivery and a prior delivery have the version of the present value, which is 0
    /// before the first change.
    public let version: UInt64

    /// The value of ``commit``, or 0 in place of nil.
    @usableFromInline internal let commitNumber: UInt64

    /// The number of the commit that made the change. All changes of that commit have the same
    /// number, whichever member they belong to. No other change in the process has that number.
    /// (P21)
    ///
    /// Nil if no commit made the change. Also nil in the initial delivery and in a prior delivery,
    /// for a result of a derived value, and if a path was relinked. A change of a group or a path
    /// that carries a commit's changes has the commit's number. The numbers do not give the order
    /// of the commits: versions do.
    @inlinable
    public var commit: UInt64? { commitNumber == 0 ? nil : commitNumber }

    /// Makes a change, for tests of code that receives changes.
    @inlinable
    public init(reason: ChangeReason, old: Value?, new: Value, version: UInt64, commit: UInt64? = nil) {
        self.init(reason, old, new, version, commitNumber: commit ?? 0)
    }

    @inlinable @inline(__always)
    internal init(_ reason: ChangeReason, _ old: Value?, _ new: Value, _ version: UInt64, commitNumber: UInt64) {
        self.reason = reason
        self.old = old
        self.new = new
        self.version = version
        self.commitNumber = commitNumber
    }
}

extension Change: Equatable where Value: Equatable {}

/// A change that is lent to its observers, one after the other. This type is not copyable, so a
/// delivery counts no reference. (P15)
@usableFromInline
internal struct LentChange<Value: Sendable>: ~Copyable {
    @usableFromInline let change: Change<Value>

    @inlinable @inline(__always)
    init(_ change: Change<Value>) { self.change = change }

    /// Calls `observer` with the change.
    @inlinable @inline(__always)
    borrowing func call(_ observer: borrowing LentObserver<Callback<Change<Value>>>) { observer.call(with: change) }
}

extension Change {
    /// Calls only the observer at `address` with the change, if its observation has not ended. The
    /// caller must keep the observer allocated.
    @inlinable @inline(__always)
    internal func deliver(to address: UInt) {
        Observer.visit(at: address) { address in Observer.call(at: address, with: self) }
    }

    /// Returns the change with `transform` applied to its values.
    @inlinable
    internal func map<Other>(_ transform: (Value) -> Other) -> Change<Other> {
        Change<Other>(reason, old.map(transform), transform(new), version, commitNumber: commitNumber)
    }
}
