// SPDX-License-Identifier: Apache-2.0

/// Converts a property's value to the two words of its latch, and back.
///
/// A value that fits and references nothing is stored as its own bits. Any other value is in a box:
/// the first word is the box's address, and the latch owns the box. The second word is then the
/// property's mark, which says how a replaced box is destroyed. The mark never changes.
@usableFromInline
internal enum ValueEncoding<Value: Sendable> {
    /// Whether values are stored as their own bits. The compiler makes this a constant when it
    /// knows `Value`.
    @inlinable @inline(__always)
    static var isAlwaysInline: Bool {
        _isPOD(Value.self) && MemoryLayout<Value>.size <= MemoryLayout<Latch.Words>.size
            && MemoryLayout<Value>.alignment <= MemoryLayout<Latch.Words>.alignment
    }

    /// Whether readers need only the first word.
    @inlinable @inline(__always)
    static var needsOneWord: Bool { !isAlwaysInline || MemoryLayout<Value>.size <= MemoryLayout<UInt>.size }

    /// The address of the box, or 0 if the words are bits. Readers pin the box.
    @inlinable @inline(__always)
    static func reference(in words: Latch.Words) -> UInt { isAlwaysInline ? 0 : words.first }

    /// Returns the words that stand for `value`. If the value is not stored as its own bits, takes
    /// a box for it.
    ///
    /// - Parameter mark: The property's mark (see `ValueMark`). It is not used if the value is
    ///   stored as its own bits.
    @inlinable @inline(__always)
    static func encode(_ value: Value, mark: UInt) -> Latch.Words {
        guard isAlwaysInline else { return Latch.Words(first: ValueBox<Value>.allocate(value), second: mark) }
        var words = Latch.Words()
        // Safe: the value fits, and references nothing.
        unsafe withUnsafeMutableBytes(of: &words) { unsafe $0.storeBytes(of: value, as: Value.self) }
        return words
    }

    /// Returns the value whose bits are in `words`.
    @inlinable @inline(__always)
    static func decode(_ words: Latch.Words) -> Value {
        // Safe: `encode` has put the bits there. They reference nothing, so their copy is a value.
        unsafe withUnsafeBytes(of: words) { unsafe $0.load(as: Value.self) }
    }

    /// Returns a copy of the value that `words` stand for. If the value is in a box, the caller
    /// must pin the box, or own a reference to it.
    @inlinable @inline(__always)
    static func copy(_ words: Latch.Words) -> Value {
        // Safe: the caller keeps the box.
        isAlwaysInline ? decode(words) : unsafe ValueBox<Value>.value(at: words.first).pointee.value
    }

    /// Releases the box of `words`, if there is one. No other thread may be able to read it.
    @inlinable @inline(__always)
    static func discard(_ words: Latch.Words) { if !isAlwaysInline { releaseReference(words.first) } }
}

/// Functions for a property's value that is on the heap, in a `Box`. Readers follow the address of
/// the box. The box is retired when the value is replaced.
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

    /// The number of bytes that the value needs, with padding if its alignment is larger than 16,
    /// the alignment of boxes.
    @inlinable @inline(__always)
    static var size: Int { MemoryLayout<Value>.size &+ max(0, MemoryLayout<Value>.alignment &- 16) }

    /// The word that says, in the box's header, which type the value has: see `BoxHeader`.
    @inlinable @inline(__always)
    static var type: UInt {
        if _isPOD(Value.self) { return 0 }
        // Safe: the address of the type's metadata, which is never freed.
        let address = unsafe unsafeBitCast(Value.self as Any.Type, to: UInt.self)
        return MemoryLayout<Value>.alignment > 16 ? address | 1 : address
    }

    /// Retires a replaced box. The release destroys the value under no lock: on this thread, or on
    /// a thread of the library if the destruction may run user code or takes long. (P5, P14)
    ///
    /// - Parameter source: The address that identifies the property: see `Retirable.sourceAddress`.
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

    /// Returns the address of the value in the box at `address`. The caller must pin the box, or
    /// own a reference to it.
    @inlinable @inline(__always)
    static func value(at address: UInt) -> UnsafePointer<BoxedValue<Value>> {
        // Safe: `allocate` has put the value there; a struct of one member is laid out as its
        // member.
        unsafe UnsafePointer(bitPattern: valueAddress(address)).unsafelyUnwrapped
    }
}

/// Takes a box for a value of this size in bytes and this `ValueBox.type`, and returns the address
/// of the box: see `BoxPool`.
@usableFromInline
internal func takeBox(_ bytes: Int, _ type: UInt) -> UInt { BoxPool.take(bytes, type: type) }

/// Retires the box of `words`, whose value owns references.
///
/// - Parameters:
///   - value: The address of the value in the box.
///   - size: The size of the value in bytes.
///   - source: The address that identifies the property: see `Retirable.sourceAddress`.
@usableFromInline
internal func retireBox(_ words: Latch.Words, _ value: UInt, _ size: Int, from source: UInt) {
    if let weight = ValueMark.weight(of: words.second, at: value) {
        ThreadRecord.retire(box: words.first, weight: size &+ weight, from: source)
    } else {
        ThreadRecord.retireForDeinitThreads(reference: words.first, from: source)
    }
}

/// The value in a box, read in place. This type is not copyable, so lending the value does not
/// change a reference count.
@usableFromInline
internal struct BoxedValue<Value>: ~Copyable {
    @usableFromInline let value: Value

    @inlinable @inline(__always)
    borrowing func lend<Result, Failure: Error>(
        to body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(value) }
}
