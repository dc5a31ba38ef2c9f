// SPDX-License-Identifier: Apache-2.0

/// How a property's value becomes the two words of its latch.
///
/// Values without references that fit are their own bits. So are strings that reference nothing: those of up to 15 bytes of UTF-8, and
/// literals. All others are boxed: the first word is the box's address, the second is zero.
@usableFromInline
internal enum ValueEncoding<Value: Sendable> {
    /// Whether every value is its own bits. A constant, once `Value` is known, as the next three are.
    @inlinable @inline(__always)
    static var isAlwaysInline: Bool { _isPOD(Value.self) && fits }

    /// Whether every value is boxed.
    @inlinable @inline(__always)
    static var isAlwaysBoxed: Bool { !isAlwaysInline && !isString }

    /// Whether the second word says nothing.
    @inlinable @inline(__always)
    static var needsOneWord: Bool { isAlwaysBoxed || MemoryLayout<Value>.size <= MemoryLayout<UInt>.size }

    /// Whether destroying a value may run a deinitialiser of the user's.
    @inlinable @inline(__always)
    static var hasDeinitialisers: Bool { !_isPOD(Value.self) && !isString }

    @inlinable @inline(__always)
    static var fits: Bool {
        MemoryLayout<Value>.size <= MemoryLayout<Latch.Words>.size
            && MemoryLayout<Value>.alignment <= MemoryLayout<Latch.Words>.alignment
    }

    @inlinable @inline(__always)
    static var isString: Bool {
        // The size first: the compiler knows it, and need not compare the types of most values at run time.
        MemoryLayout<Value>.size == MemoryLayout<Latch.Words>.size && fits
            && (Value.self == String.self || Value.self == String?.self)
    }

    /// Whether `words` hold a box's address.
    @inlinable @inline(__always)
    static func isBoxed(_ words: Latch.Words) -> Bool {
        if isAlwaysInline { return false }
        // The second word of a string that references nothing has its highest bit set; nil is zero in both.
        return isAlwaysBoxed || (words.second == 0 && words.first != 0)
    }

    /// Whether a string's own bits reference nothing that is counted.
    ///
    /// The highest bit of its second word says so: "b63: isImmortal", in the standard library's StringObject.swift. The runtime
    /// decides by the same bit whether there is anything to retain.
    @inlinable @inline(__always)
    static func referencesNothing(_ words: Latch.Words) -> Bool {
        words.second >> 63 == 1 || (words.first == 0 && words.second == 0)
    }
}

// MARK: - Both ways

extension ValueEncoding {
    /// The words that stand for `value`. Allocates a box unless they are its own bits.
    @inlinable @inline(__always)
    static func encode(_ value: Value) -> Latch.Words {
        if isAlwaysInline { return bits(of: value) }
        if isString {
            let bits = bits(of: value)
            if referencesNothing(bits) { return bits }
        }
        return Latch.Words(first: ValueBox<Value>.allocate(value))
    }

    @inlinable @inline(__always)
    static func bits(of value: Value) -> Latch.Words {
        var words = Latch.Words()
        // Safe: only called if the value fits. Bits are copied; no reference is made of them unless there is nothing to count.
        unsafe withUnsafeMutableBytes(of: &words) { words in
            unsafe withUnsafeBytes(of: value) { unsafe words.copyMemory(from: $0) }
        }
        return words
    }

    /// The value whose own bits `words` are.
    @inlinable @inline(__always)
    static func decode(_ words: Latch.Words) -> Value {
        var words = words
        // Safe: `bits` has put them there, they are aligned at least as strictly, and reference nothing that is counted, so that a copy
        // of the bits is a value of its own.
        return unsafe withUnsafeMutablePointer(to: &words) {
            unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: Value.self).move()
        }
    }

    /// A copy of the value that `words` stand for. The caller is in the read section in which it has loaded them, or owns the box.
    @inlinable @inline(__always)
    static func copy(_ words: Latch.Words) -> Value {
        // Safe: the caller keeps the box.
        isBoxed(words) ? unsafe ValueBox<Value>.value(at: words.first).pointee.value : decode(words)
    }

    /// Destroys what `encode` has made, and no other thread can be reading.
    @inlinable
    static func discard(_ words: Latch.Words) { if isBoxed(words) { ValueBox<Value>.release(at: words.first) } }
}
