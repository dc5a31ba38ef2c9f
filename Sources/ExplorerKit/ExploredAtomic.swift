// SPDX-License-Identifier: Apache-2.0

import StressKit
import Synchronization

/// A value with the methods of `Synchronization.Atomic`. Each call is a step of an exploration.
///
/// It is an object, so it can be a `let` wherever an atomic can. Values are compared with `==`. The
/// orderings are accepted and not used: an exploration is sequentially consistent, and outside one
/// a lock makes each operation atomic and sequentially consistent. A weak exchange does not fail
/// spuriously.
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

    /// Replaces the value and returns the previous one.
    public func exchange(_ desired: Value, ordering: AtomicUpdateOrdering) -> Value {
        step("exchange") { value in
            defer { value = desired }
            return value
        }
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the previous value.
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

    /// Replaces the value if it equals `expected`. Returns whether it did, and the previous value.
    public func compareExchange(
        expected: Value,
        desired: Value,
        successOrdering: AtomicUpdateOrdering,
        failureOrdering: AtomicLoadOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: successOrdering)
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the previous value.
    public func weakCompareExchange(
        expected: Value,
        desired: Value,
        ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
        compareExchange(expected: expected, desired: desired, ordering: ordering)
    }

    /// Replaces the value if it equals `expected`. Returns whether it did, and the previous value.
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
    /// Adds the operand. An overflow traps.
    @discardableResult
    public func add(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("add") { $0 + operand }
    }

    /// Subtracts the operand. An overflow traps.
    @discardableResult
    public func subtract(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("subtract") { $0 - operand }
    }

    /// Adds the operand, and wraps around.
    @discardableResult
    public func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("add") { $0 &+ operand }
    }

    /// Subtracts the operand, and wraps around.
    @discardableResult
    public func wrappingSubtract(
        _ operand: Value,
        ordering: AtomicUpdateOrdering
    ) -> (oldValue: Value, newValue: Value) {
        update("subtract") { $0 &- operand }
    }

    /// Keeps the bits that are also set in the operand.
    @discardableResult
    public func bitwiseAnd(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("and") { $0 & operand }
    }

    /// Sets the bits that are set in the operand.
    @discardableResult
    public func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("or") { $0 | operand }
    }

    /// Flips the bits that are set in the operand.
    @discardableResult
    public func bitwiseXor(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("xor") { $0 ^ operand }
    }

    /// Stores the lower of the value and the operand.
    @discardableResult
    public func min(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("min") { Swift.min($0, operand) }
    }

    /// Stores the higher of the value and the operand.
    @discardableResult
    public func max(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
        update("max") { Swift.max($0, operand) }
    }
}

extension ExploredAtomic where Value == Bool {
    /// Stores true if the value and the operand are true, otherwise false.
    @discardableResult
    public func logicalAnd(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("and") { $0 && operand }
    }

    /// Stores true if the value or the operand is true, otherwise false.
    @discardableResult
    public func logicalOr(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("or") { $0 || operand }
    }

    /// Stores true if exactly one of the value and the operand is true, otherwise false.
    @discardableResult
    public func logicalXor(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
        update("xor") { $0 != operand }
    }
}

/// Plain memory that threads share. Reading it is one step, writing it another.
///
/// `variable.value += 1` takes two steps, and an update by another thread in between is lost, as in
/// memory. Outside an exploration a lock keeps each access whole.
public final class ExploredVariable<Value>: @unchecked Sendable {
    // Unchecked: the lock guards the value. The user decides whether threads may share it.
    private let content: Guarded<Value>

    /// Makes a variable with a value.
    public init(_ value: Value) { content = Guarded(value) }

    /// The value. Reading it is one step, writing it another.
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
