// SPDX-License-Identifier: Apache-2.0

/// One value of a property, on the heap: what readers follow an address to, and what is retired when the value is replaced. The memory is
/// a `Box`.
@usableFromInline
internal enum ValueBox<Value: Sendable> {
    /// The address of a box with a copy of `value`, to which the caller then owns the only reference.
    @inlinable @inline(__always)
    static func allocate(_ value: Value) -> UInt {
        let address = takeBox(size, type)
        // Safe: the box is the caller's, and has room for the value behind its header.
        unsafe UnsafeMutablePointer<Value>(bitPattern: valueAddress(address)).unsafelyUnwrapped.initialize(to: value)
        return address
    }

    /// How many bytes the value needs, and what aligns it: boxes are aligned to 16.
    @inlinable @inline(__always)
    static var size: Int { MemoryLayout<Value>.size &+ max(0, MemoryLayout<Value>.alignment &- 16) }

    /// See `BoxHeader`.
    @inlinable @inline(__always)
    static var type: UInt {
        if _isPOD(Value.self) { return 0 }
        // Safe: the address of the type's metadata, which is never freed.
        let address = unsafe unsafeBitCast(Value.self as Any.Type, to: UInt.self)
        return MemoryLayout<Value>.alignment > 16 ? address | 1 : address
    }

    /// Where the value in the box at `address` is.
    @inlinable @inline(__always)
    static func valueAddress(_ address: UInt) -> UInt {
        addressOfValue(inBoxAt: address, alignment: MemoryLayout<Value>.alignment)
    }

    /// The value in the box at `address`, in place.
    ///
    /// The caller pins the box, or owns a reference.
    @inlinable @inline(__always)
    static func value(at address: UInt) -> UnsafePointer<BoxedValue<Value>> {
        // Safe: `allocate` has put the value there; a struct of one member is laid out as its member.
        unsafe UnsafePointer(bitPattern: valueAddress(address)).unsafelyUnwrapped
    }
}

/// A box for a value: see `BoxPool`.
@usableFromInline
internal func takeBox(_ bytes: Int, _ type: UInt) -> UInt { BoxPool.take(bytes, type: type) }

/// Releases the box or the object at an address, which no other thread can be reading.
@usableFromInline
internal func releaseOwned(_ reference: UInt) {
    // Safe: the caller owns a reference; every object of the runtime's is released alike.
    unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: reference).unsafelyUnwrapped).release()
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
