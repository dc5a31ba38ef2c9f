// SPDX-License-Identifier: Apache-2.0

/// A value of a property on the heap, in a `Box`. Readers follow its address. It is retired when
/// the value is replaced.
@usableFromInline
internal enum ValueBox<Value: Sendable> {
    /// Allocates a box with a copy of `value`, and returns its address. The caller owns the only
    /// reference.
    @inlinable @inline(__always)
    static func allocate(_ value: Value) -> UInt {
        let address = takeBox(size, type)
        // Safe: the box is the caller's, and has room for the value behind its header.
        unsafe UnsafeMutablePointer<Value>(bitPattern: valueAddress(address)).unsafelyUnwrapped.initialize(to: value)
        return address
    }

    /// The bytes that the value needs, with padding if its alignment is larger than 16, which is
    /// that of boxes.
    @inlinable @inline(__always)
    static var size: Int { MemoryLayout<Value>.size &+ max(0, MemoryLayout<Value>.alignment &- 16) }

    /// The type that the box's header names: see `BoxHeader`.
    @inlinable @inline(__always)
    static var type: UInt {
        if _isPOD(Value.self) { return 0 }
        // Safe: the address of the type's metadata, which is never freed.
        let address = unsafe unsafeBitCast(Value.self as Any.Type, to: UInt.self)
        return MemoryLayout<Value>.alignment > 16 ? address | 1 : address
    }

    /// Retires a replaced box. The release destroys the value under no lock: on this thread, or on
    /// one of the library's if that may run user code or takes long. (P5, P14)
    ///
    /// - Parameter source: Names the property: see `Retirable.source`.
    @inlinable @inline(__always)
    static func retire(_ words: Latch.Words, from source: UInt) {
        if _isPOD(Value.self) {
            ThreadRecord.retire(box: words.first, weight: size, from: source)
        } else {
            retireBox(words, valueAddress(words.first), size, from: source)
        }
    }

    /// Returns the address of the value in the box at `address`.
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

/// Takes a box for a value: see `BoxPool`.
@usableFromInline
internal func takeBox(_ bytes: Int, _ type: UInt) -> UInt { BoxPool.take(bytes, type: type) }

/// Retires a box whose value owns references.
@usableFromInline
internal func retireBox(_ words: Latch.Words, _ value: UInt, _ size: Int, from source: UInt) {
    if let weight = ValueMark.weight(of: words.second, at: value) {
        ThreadRecord.retire(box: words.first, weight: size &+ weight, from: source)
    } else {
        ThreadRecord.retireForDeinitThreads(reference: words.first, from: source)
    }
}

/// Releases the box at an address, which no other thread can be reading.
@usableFromInline
internal func releaseOwned(_ reference: UInt) {
    // Safe: the caller owns the reference.
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
