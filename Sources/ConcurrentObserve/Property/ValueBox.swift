// SPDX-License-Identifier: Apache-2.0

/// One value of a property, on the heap: what readers follow an address to, and what is retired when the value is replaced.
@usableFromInline
internal final class ValueBox<Value: Sendable>: Sendable {
    /// Readers find it by its offset.
    private let value: Value

    @usableFromInline
    init(_ value: Value) {
        self.value = value
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: self.value) { UInt(bitPattern: $0) } == Self.valueAddress(Self.address(of: self)),
            "a box's layout is not the one that readers read"
        )
    }
}

extension ValueBox {
    /// The address of a new box, to which the caller then owns a reference.
    @inlinable
    static func allocate(_ value: Value) -> UInt {
        // Safe: an address only.
        unsafe UInt(bitPattern: Unmanaged.passRetained(ValueBox(value)).toOpaque())
    }

    /// The address of `box`, as latches and pins hold it.
    static func address(of box: ValueBox) -> UInt {
        // Safe: an address only; a thread that follows it pins the box or owns a reference.
        unsafe UInt(bitPattern: Unmanaged.passUnretained(box).toOpaque())
    }

    /// Where the value in the box at `address` is: behind the object's header, as strictly aligned as its type asks.
    @inlinable @inline(__always)
    static func valueAddress(_ address: UInt) -> UInt {
        let mask = UInt(MemoryLayout<Value>.alignment) &- 1
        return address &+ (16 &+ mask) & ~mask
    }

    /// The value in the box at `address`, in place.
    ///
    /// The caller pins the box, or owns a reference.
    @inlinable @inline(__always)
    static func value(at address: UInt) -> UnsafePointer<BoxedValue<Value>> {
        // Safe: `init` has checked that the value is there; a struct of one member is laid out as its member.
        unsafe UnsafePointer(bitPattern: valueAddress(address)).unsafelyUnwrapped
    }

    /// Destroys the box at `address`, which no other thread can be reading.
    @usableFromInline
    static func release(at address: UInt) {
        // Safe: the caller owns the last reference.
        unsafe Unmanaged<ValueBox>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped).release()
    }
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
