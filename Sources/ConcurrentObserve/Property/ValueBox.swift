// SPDX-License-Identifier: Apache-2.0

/// One value of a property, on the heap: what readers follow an address to, and what is retired when the value is replaced.
@usableFromInline
@safe internal class ValueBox<Value: Sendable>: Retirable, @unchecked Sendable {
    // Unchecked: `slot` is written before publication and by `reclaim`, once, when no thread can read it any more.

    /// The value, until it is destroyed. Readers find it by its offset.
    private final var slot: Value?

    @usableFromInline
    init(_ value: Value) {
        slot = value
        super.init()
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &slot) { UInt(bitPattern: $0) } == Self.valueAddress(Self.address(of: self)),
            "a box's layout is not the one that readers read"
        )
    }

    // MARK: Retirable

    final override var hold: Hold { .validatedPin(Self.address(of: self)) }

    final override var runsUserCode: Bool { ValueEncoding<Value>.hasDeinitialisers }

    final override func reclaim() {
        #if INSTRUMENTED
        if mutant(.aValueIsDestroyedUnderALock) { return Lock().withLock { destroy() } }
        #endif
        destroy()
    }

    private final func destroy() {
        #if INSTRUMENTED
        if mutant(.aValueIsDestroyedTwice) {
            _ = unsafe withUnsafeMutablePointer(to: &slot) { unsafe $0.deinitialize(count: 1) }
        }
        #endif
        if exploredDestruction(ofValue: Self.address(of: self)) { return }
        slot = nil
    }
}

extension ValueBox {
    /// The address of a new box, to which the caller then owns a reference.
    @inlinable
    static func allocate(_ value: Value) -> UInt {
        // Safe: an address only.
        unsafe UInt(bitPattern: Unmanaged.passRetained(make(value)).toOpaque())
    }

    @inlinable
    static func make(_ value: Value) -> ValueBox {
        ValueEncoding<Value>.hasDeinitialisers ? SourcedValueBox(value) : ValueBox(value)
    }

    /// The address of `box`, as latches and pins hold it.
    static func address(of box: ValueBox) -> UInt {
        // Safe: an address only; a thread that follows it pins the box or owns a reference.
        unsafe UInt(bitPattern: Unmanaged.passUnretained(box).toOpaque())
    }

    /// Where the value in the box at `address` is: behind the object's header and its link, as strictly aligned as its type asks. The
    /// payload of an optional that is not nil lies at its start.
    @inlinable @inline(__always)
    static func valueAddress(_ address: UInt) -> UInt {
        let mask = UInt(MemoryLayout<Value>.alignment) &- 1
        return address &+ (24 &+ mask) & ~mask
    }

    /// The value in the box at `address`, in place.
    ///
    /// The caller pins the box, or owns a reference.
    @inlinable @inline(__always)
    static func value(at address: UInt) -> UnsafePointer<BoxedValue<Value>> {
        // Safe: `init` has checked that the value is there; a struct of one member is laid out as its member.
        unsafe UnsafePointer(bitPattern: valueAddress(address)).unsafelyUnwrapped
    }

    /// Hands the box at `address` over for reclamation, with the reference that the caller owns. Destroying the value may run a
    /// deinitialiser of the user's.
    ///
    /// - Parameter source: Names the property.
    @usableFromInline
    static func retire(at address: UInt, from source: UInt) {
        // Safe: the caller passes on its reference; `make` has decided by the same constant.
        let box = unsafe unsafeDowncast(unmanaged(address).takeRetainedValue(), to: SourcedValueBox<Value>.self)
        box.note(source)
        box.retire()
    }

    private final func retire() {
        #if INSTRUMENTED
        if mutant(.aValueIsDestroyedByItsWriter) { return reclaimHere() }
        #endif
        ThreadRecord.retire(self)
    }

    /// Destroys the box at `address`, which no other thread can be reading.
    @usableFromInline
    static func release(at address: UInt) {
        // Safe: the caller owns the last reference.
        unsafe unmanaged(address).release()
    }

    @inlinable @inline(__always)
    static func unmanaged(_ address: UInt) -> Unmanaged<ValueBox> {
        unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }
}

/// A value whose destruction may run a deinitialiser of the user's: known by its property once that
/// has another.
@usableFromInline
internal final class SourcedValueBox<Value: Sendable>: ValueBox<Value>, @unchecked Sendable {
    // Unchecked: written when the box is retired, by the thread that owns it then.

    /// Behind the value, which readers find by its offset.
    private var property: UInt = 0

    @usableFromInline
    override init(_ value: Value) { super.init(value) }

    func note(_ source: UInt) { property = source }

    override var source: UInt { property }
}

/// A value where it is: not copyable, so that lending it counts no reference.
@usableFromInline
internal struct BoxedValue<Value: Sendable>: ~Copyable {
    @usableFromInline let value: Value

    @inlinable @inline(__always)
    borrowing func lend<Result, Failure: Error>(
        to body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(value) }
}
