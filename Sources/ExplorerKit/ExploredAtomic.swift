// SPDX-License-Identifier: Apache-2.0

import StressKit
import Synchronization

/// A value with the methods of `Synchronization.Atomic`, each a step of an exploration.
///
/// An object, so that it can be a `let` wherever an atomic can. Values are compared by `==`. The
/// orderings are accepted and not used: an exploration is sequentially consistent, and outside one
/// a lock makes each operation atomic and sequentially consistent. A weak exchange never fails
/// without a reason.
public final class ExploredAtomic<Value: AtomicRepresentable & Equatable>: Sendable {
    private let value: Guarded<Value>

    /// Makes an atomic with a value.
    public init(_ initialValue: Value) { value = Guarded(initialValue) }

    fileprivate func step<Result>(_ name: StaticString, _ body: (inout Value) -> Result) -> Result {
        exploredStep(name)
        return value.withLock(body)
    }

    /// Returns the value.
    public func load(ordering: AtomicLoadOrdering) -> Value { step("load") { $0 } }

    /// Replaces the value.
    public func store(_ desired: Value, ordering: AtomicStoreOrdering) { step("store") { $0 = desired } }

    /// Replaces the value and returns the one before.
    public func exchange(_ desired: Value, ordering: AtomicUpdateOrdering) -> Value {
        step("exchange") { value in
            defer { value = desired }
            return value
        }
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the value before.
    public func compareExchange(
        expected: Value,
        desired: Value,
        ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
        step("compare and exchange") { value in
            let original = value
            if original == expected { value = desired }
            return (original == expected, original)
        }
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the value before.
    public func compareExchange(
        expected: Value,
        desired: Value,
        successOrdering: AtomicUpdateOrdering,
        failureOrdering: AtomicLoadOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: successOrdering)
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the value before.
    public func weakCompareExchange(
        expected: Value,
        desired: Value,
        ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: ordering)
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the value before.
    public func weakCompareExchange(
        expected: Value,
        desired: Value,
        successOrdering: AtomicUpdateOrdering,
        failureOrdering: AtomicLoadOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: successOrdering)
    }

    fileprivate func update(_ name: StaticString, _ new: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
        step(name) { value in
            let old = value
            value = new(old)
            return (old, value)
        }
    }
}

extension ExploredAtomic where Value: FixedWidthInteger {
    /// Adds. An overflow traps.
    @discardableResult
    public func add(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("add") { $0 + operand }
    }

    /// Subtracts. An overflow traps.
    @discardableResult
    public func subtract(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("subtract") { $0 - operand }
    }

    /// Adds, and wraps around.
    @discardableResult
    public func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("add") { $0 &+ operand }
    }

    /// Subtracts, and wraps around.
    @discardableResult
    public func wrappingSubtract(
        _ operand: Value,
        ordering: AtomicUpdateOrdering
    ) -> (oldValue: Value, newValue: Value) {
        update("subtract") { $0 &- operand }
    }

    /// Keeps the bits that both have.
    @discardableResult
    public func bitwiseAnd(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("and") { $0 & operand }
    }

    /// Adds the bits of the operand.
    @discardableResult
    public func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("or") { $0 | operand }
    }

    /// Flips the bits of the operand.
    @discardableResult
    public func bitwiseXor(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("xor") { $0 ^ operand }
    }

    /// Keeps the lower of both.
    @discardableResult
    public func min(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("min") { Swift.min($0, operand) }
    }

    /// Keeps the higher of both.
    @discardableResult
    public func max(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("max") { Swift.max($0, operand) }
    }
}

extension ExploredAtomic where Value == Bool {
    /// Makes it true if both are.
    @discardableResult
    public func logicalAnd(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("and") { $0 && operand }
    }

    /// Makes it true if one of both is.
    @discardableResult
    public func logicalOr(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("or") { $0 || operand }
    }

    /// Makes it true if exactly one of both is.
    @discardableResult
    public func logicalXor(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("xor") { $0 != operand }
    }
}

/// Plain memory that threads share: to read it is a step, and to write it.
///
/// `variable.value += 1` takes two steps, and an update by another thread in between is lost, as in
/// memory. Outside an exploration a lock keeps each access whole.
public final class ExploredVariable<Value>: @unchecked Sendable {
    // Unchecked: the lock guards the value; whether it may be shared is for the user to check.
    private let content: Guarded<Value>

    /// Makes a variable with a value.
    public init(_ value: Value) { content = Guarded(value) }

    /// The value. To read it is one step, to write it another.
    public var value: Value {
        get {
            exploredStep("read")
            return content.withLock { $0 }
        }
        set {
            exploredStep("write")
            content.withLock { $0 = newValue }
        }
    }
}
