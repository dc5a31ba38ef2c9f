// SPDX-License-Identifier: Apache-2.0

/// A value that any thread may read and change, and that delivers every change to its observers.
///
/// Use it for state; for events that leave nothing behind there is `ObserverRegistry`. It belongs in a `let` of a class that is
/// `Sendable`:
///
/// ```swift
/// final class Car: Sendable {
///     let name = Observed("Beetle")
///     let mileage = Observed(0)
/// }
/// let car = Car()
/// let token = car.name.observe { change in
///     print(change.new, change.version)
/// }
/// car.name.value = "Golf"
/// car.mileage.modify { $0 += 1 }
/// ```
///
/// Every member may be used from any thread, also inside a callback. Readers never wait, neither for writers nor for the body
/// of a `modify`. Changes are made one at a time and numbered 1, 2, 3, … (P2); observers are called afterwards, under no lock,
/// on the thread that made the change, and may be called on several threads at once.
///
/// Values of up to 16 bytes that are nothing but bits (`BitwiseCopyable`: integers, floating-point
/// numbers, small structs and enums of them), strings, objects, and arrays, sets and dictionaries
/// are kept in the property itself. For others a change allocates memory. A replaced value is
/// destroyed when its last reader has finished. If that may run code of yours, a thread of the
/// library destroys the value. Strings, collections of strings and of bits, and values that are
/// nothing but bits may also be destroyed by a thread that replaces such a value. (P5, P14)
public final class Observed<Value: Sendable>: Sendable {
    @usableFromInline internal let observers = ObserverList()
    @usableFromInline internal let mutation = MutationLock()
    @usableFromInline internal let cell: ValueCell<Value>

    /// Makes a property, at version 0.
    @inlinable
    public init(_ value: Value) {
        cell = ValueCell(value)
    }

    /// Makes a property with a name for diagnostics, at version 0.
    ///
    /// - Parameters:
    ///   - value: The first value.
    ///   - label: The name that ``ConcurrentObserveDiagnostics/callbacks(runningFor:)`` and
    ///     ``ConcurrentObserveDiagnostics/largestMailboxes(_:)`` report for its observers.
    public convenience init(_ value: Value, label: String) {
        self.init(value)
        if !label.isEmpty { LabelledRegistries.add(observers.core(label: label)) }
    }

    /// The name given to the property, or an empty string.
    public var label: String { observers.existingCore?.label ?? "" }

    /// Ends every observation; `onEnd` receives `.sourceDeleted`. (P12)
    deinit { observers.endSource() }
}

// MARK: - Reading

extension Observed {
    /// The present value. Reading never waits; the setter makes a change and calls the observers before it returns.
    ///
    /// `property.value += 1` is a read and then a change. It loses changes that other threads make
    /// in between: use `modify`.
    ///
    /// Reading copies the value. Copying a longer string, a collection, an object or a struct of
    /// such counts references, and threads that copy the same value contend for the count.
    /// ``value(_:)`` copies one part of the value, and ``withValue(_:)`` lends it: neither counts
    /// the value's own references.
    ///
    /// Setting waits for other changes of this property, including the bodies of `modify` and of
    /// commits. It traps in the body of any `modify` or commit. (P5)
    ///
    /// - Complexity: Reading: O(1). Setting: O(*n*) in the observers.
    public var value: Value {
        @inlinable @inline(__always) get { cell.copy() }
        @inlinable set { change(to: newValue).retire() }
    }

    /// The number of changes so far. A read that follows sees this version or a later one. (P2)
    @inlinable
    public var version: UInt64 { presentVersion }

    @inlinable @inline(__always)
    internal var presentVersion: UInt64 {
        return cell.version
    }

    /// The present value and its version, which belong together. Never waits.
    @inlinable
    public func snapshot() -> (value: Value, version: UInt64) { cell.load() }

    /// A copy of one part of the present value: `limits.value(\.perMinute)`. Never waits.
    ///
    /// It counts no reference of the value itself. So threads that read parts of it do not contend,
    /// unlike threads that copy it.
    ///
    /// - Parameter part: A stored property of the value. A computed property works, too: its code runs as if inside a callback.
    @inlinable @inline(__always)
    public func value<Part>(_ part: KeyPath<Value, Part>) -> Part { withValue { value in value[keyPath: part] } }

    /// Lends the present value to `body`, without copying it.
    ///
    /// This is the cheapest way to read a part of a large value, above all on many threads: copies
    /// count references, and the threads contend for the count.
    ///
    /// `body` may take as long as it likes. Other threads can change the property, but the lent
    /// value stays the same, and is destroyed only after `body` has returned. `body` counts as
    /// inside a callback.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable @inline(never)
    public func withValue<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try cell.lend(to: body)
    }
}
