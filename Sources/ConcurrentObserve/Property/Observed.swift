// SPDX-License-Identifier: Apache-2.0

// # Property: a value that any thread can read, and the steps of a change
//
// This room (folder) keeps values that are read without waiting. It makes the changes of each
// property one after the other, with the versions 1, 2, 3, …, and calls the observers after each
// change. It uses Registry for the observers, and Reclamation for the replaced values. P1 to P25
// are the promises of the article Contract.
//
// The main types. Begin with this file, then read `Observed+Changing.swift`.
// - `Observed`: a property. It has an `ObserverList`, a `MutationLock` and a `ValueCell`.
// - `ObservableProperty`: the protocol of all properties. A type is observed through its `attach`.
// - `PropertyObserver`: says what to call, with which options, and whether inline or by a mailbox.
// - `Change`: a delivery to an observer: the reason, the old and the new value, and the version.
// - `ValueCell`: reads, pins and replaces the value.
// - `Latch`: two slots of two words, and the version, which says which slot is the present one.
// - `ValueEncoding`: how a value becomes two words: its bits, or the address of its box.
// - `MutationLock`: the lock of the writers. `bodyLock` lets observers register while a body runs.
// - `WeakObserved`: a property that does not retain its referent. It stores a `WeakBox`.
//
// The life of a property:
// 1. `init` encodes the value into the latch, with version 0. There is no core until the first
//    observer, unless the property has a label.
// 2. A read takes no lock. `loadWithWord` loads the version with acquire, the words of its slot,
//    and after a fence the version again. If the version has changed, or a commit has prepared the
//    next one, `loadAgain` repeats this. If the value is in a box, `ValueCell.readPinned` stores
//    the box's address in a hazard pointer, executes the light barrier, and compares the version.
//    `ValueCell.protect` does the same on the slow path, and to lend a value.
// 3. `attach` registers an observer while `withPublicationHeld` lets no thread publish a change.
//    `since` stores the present version: the observer receives every later version. (P4)
// 4. `change(to:)` makes the prior deliveries that observers asked for, and encodes the value.
//    Under the mutation lock it calls `commitLocked`. There `Latch.publish` stores the words in
//    the other slot, then the version with release. `enqueueLocked` puts the change into the
//    mailboxes, which therefore have the order of the versions. (P2)
// 5. After the unlock, `announce` delivers the change: `notifyLinks`, `wakeMailboxes`, then
//    `LinkDeliveries.deliver`, the inline callbacks, `deliverLate`, `drainMailboxes`.
// 6. `Replaced.retire` retires the replaced box. It is released after a heavy barrier, which pairs
//    with the light one in `HazardPointer.protect`, and a scan that finds no pin. (P14)
// 7. `deinit` calls `endSource`: every observation ends with `.sourceDeleted`. (P12)
//
// Every part of the room obeys these rules:
// - A reader waits for no writer. A registration waits for no body of `modify`.
// - User code runs under the mutation lock only in the bodies of `modify` and of commits. The
//   library calls `==`, callbacks and deinitialisers under no lock. (P5)
//
// The calls to read, in their order: the setter of `value`, `change(to:)`, `commitLocked`,
// `ValueCell.publishLocked`, `Latch.publish`, `enqueueLocked`; after the unlock `announce`,
// `deliver`, `deliverToAllKinds`, `walk`, `walkClosures(before:)`; then `Replaced.retire`.

/// A value that any thread may read and change, and that delivers every change to its observers.
///
/// Use it for state. Use `ObserverRegistry` for events that have no current value. A property
/// belongs in a `let` of a class that is `Sendable`:
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
/// Every member may be used from any thread, also inside a callback. Readers never wait, neither
/// for writers nor for the body of a `modify`. Changes are made one at a time, and are numbered 1,
/// 2, 3, … (P2) After each change, the thread that made it calls the observers, under no lock.
/// Observers may be called on several threads at once.
///
/// Values of up to 16 bytes that are nothing but bits (`BitwiseCopyable`: integers, floating-point
/// numbers, small structs and enums of them) are kept in the property itself. Any other value is in
/// a box on the heap, and each change takes another box. A replaced value is destroyed when its
/// last reader has finished. If the destruction may run code of yours, a thread of the library
/// destroys the value. The destruction of a string, and of an array, set, dictionary or optional of
/// strings or of bits, runs no such code: in most cases the thread that replaces such a value also
/// destroys it, and recycles its box. (P5, P14)
public final class Observed<Value: Sendable>: Sendable {
    @usableFromInline internal let observers = ObserverList()
    @usableFromInline internal let mutation = MutationLock()
    @usableFromInline internal let cell: ValueCell<Value>

    /// Makes a property that has this value, at version 0.
    @inlinable
    public init(_ value: Value) {
        cell = ValueCell(value, version: 0)
    }

    /// Makes a property that has this value at `version`, and continues from there the versions of
    /// another property.
    package init(_ value: Value, version: UInt64) {
        cell = ValueCell(value, version: version)
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
    /// The present value. Reading never waits; the setter makes a change and calls the observers
    /// before it returns.
    ///
    /// `property.value += 1` is a read and then a change. It loses changes that other threads make
    /// in between. Use `modify` instead.
    ///
    /// Reading copies the value. If the value is or contains a longer string, a collection or an
    /// object, a copy counts references, and threads that copy the same value contend for the
    /// counts. ``value(_:)`` copies only one part of the value, and ``withValue(_:)`` lends the
    /// value: neither counts the references of the whole value.
    ///
    /// Setting waits for other changes of this property, including the bodies of `modify` and of
    /// commits. It traps in the body of any `modify` or commit. (P5)
    ///
    /// - Complexity: Reading: O(1). Setting: O(*n*) in the observers.
    public var value: Value {
        @inlinable @inline(__always) get { cell.copy() }
        @inlinable set { change(to: newValue).retire() }
    }

    /// The number of changes so far. A value that is read afterwards has this version or a later
    /// one. (P2)
    @inlinable
    public var version: UInt64 { cell.version }

    /// The present value and its version, which belong together. Never waits.
    @inlinable
    public func snapshot() -> (value: Value, version: UInt64) { cell.load() }

    /// A copy of one part of the present value: `limits.value(\.perMinute)`. Never waits.
    ///
    /// It counts no reference of the whole value. Threads that read parts of a value therefore do
    /// not contend, unlike threads that copy the value.
    ///
    /// - Parameter part: A stored property of the value. A computed property works, too: its code
    ///   runs as if inside a callback.
    @inlinable @inline(__always)
    public func value<Part>(_ part: KeyPath<Value, Part>) -> Part { withValue { value in value[keyPath: part] } }

    /// Lends the present value to `body`, without copying it.
    ///
    /// This is the cheapest way to read a part of a large value, above all on many threads: copies
    /// count references, and the threads contend for the count.
    ///
    /// `body` may run for a long time. Other threads can change the property, but the lent value
    /// stays the same, and is destroyed only after `body` has returned. `body` counts as inside a
    /// callback.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws.
    @inlinable @inline(never)
    public func withValue<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try cell.lend(to: body)
    }
}
