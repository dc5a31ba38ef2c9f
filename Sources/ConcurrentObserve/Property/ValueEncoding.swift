// SPDX-License-Identifier: Apache-2.0

/// How a property's value becomes the two words of its latch.
///
/// A value without references that fits is stored as its own bits. So is a value that is one
/// counted reference: a string, an object, or a `ReferencedCollection`. The latch then owns that
/// reference. Any other value is in a box: the first word is the box's address, and the latch owns
/// the box. Except in strings, the second word of references and boxes is their mark.
@usableFromInline
internal enum ValueEncoding<Value: Sendable> {
    /// Whether every value is bits that reference nothing. Like the properties below, a constant
    /// once `Value` is known.
    @inlinable @inline(__always)
    static var isAlwaysInline: Bool { _isPOD(Value.self) && fits }

    /// Whether a value may be bits that reference nothing.
    @inlinable @inline(__always)
    static var mayBeInline: Bool { isAlwaysInline || isString }

    /// Whether a value may be its own reference. The property's mark says whether it is.
    @inlinable @inline(__always)
    static var mayBeMarked: Bool { !_isPOD(Value.self) && MemoryLayout<Value>.size == MemoryLayout<UInt>.size }

    /// Whether the second word is the mark of the property's values: it never changes.
    @inlinable @inline(__always)
    static var isMarked: Bool { !_isPOD(Value.self) && !isString }

    /// Whether readers do without the second word.
    @inlinable @inline(__always)
    static var needsOneWord: Bool {
        isAlwaysInline ? MemoryLayout<Value>.size <= MemoryLayout<UInt>.size : !isString && !mayBeMarked
    }

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
}

// MARK: - What words say

extension ValueEncoding {
    /// Whether `words` reference nothing that is counted.
    @inlinable @inline(__always)
    static func referencesNothing(_ words: Latch.Words) -> Bool { reference(in: words) == 0 }

    /// The address of the box or the object that `words` reference, or 0. A reader pins it, and it
    /// is released at last.
    @inlinable @inline(__always)
    static func reference(in words: Latch.Words) -> UInt {
        if isAlwaysInline { return 0 }
        if isString { return isImmediate(words) ? 0 : words.second & 0x0FFF_FFFF_FFFF_FFFF }
        return words.first
    }

    /// Whether a string's own bits reference nothing that is counted.
    ///
    /// The highest bit of its second word says so: "b63: isImmortal", in the standard library's
    /// StringObject.swift; the four highest are no part of an object's address. The runtime decides
    /// by the same bit whether there is anything to retain. The second word of nil is 0.
    @inlinable @inline(__always)
    static func isImmediate(_ words: Latch.Words) -> Bool { words.second >> 63 == 1 || words.second == 0 }

    /// Whether `words` hold a box's address.
    @inlinable @inline(__always)
    static func isBoxed(_ words: Latch.Words) -> Bool {
        if isAlwaysInline || isString { return false }
        return !mayBeMarked || ReferenceMark(word: words.second).isOfBoxes
    }
}

extension ValueEncoding {
    /// Whether destroying what `words` stand for may run a deinitialiser of the user's.
    @inlinable @inline(__always)
    static func runsUserCode(_ words: Latch.Words) -> Bool {
        isMarked && ReferenceMark(word: words.second).runsUserCode
    }

    /// Estimates the bytes of memory behind the reference in `words`; nil stands for those of the
    /// object itself.
    @inlinable @inline(__always)
    static func weight(of words: Latch.Words) -> Int? {
        if isString { return nil }
        return isBoxed(words)
            ? MemoryLayout<Value>.size : ReferenceMark(word: words.second).weight(of: words.first)
    }
}

// MARK: - Both ways

extension ValueEncoding {
    /// The words that stand for `value`, with a reference of their own. Allocates a box for what is not its own bits.
    ///
    /// - Parameter mark: The second word of all the property's values, if these are marked.
    @inlinable @inline(__always)
    static func encode(_ value: Value, mark: UInt) -> Latch.Words {
        if isAlwaysInline || isString || (mayBeMarked && !ReferenceMark(word: mark).isOfBoxes) {
            var words = Latch.Words(second: mark)
            // Safe: the value fits. Its reference, if it has one, is the words' from now on.
            unsafe withUnsafeMutablePointer(to: &words) {
                _ = unsafe UnsafeMutableRawPointer($0).initializeMemory(as: Value.self, to: value)
            }
            return words
        }
        return Latch.Words(first: ValueBox<Value>.allocate(value), second: mark)
    }

    /// The value whose own bits `words` are, in place.
    @inlinable @inline(__always)
    static func withBits<Result, Failure: Error>(
        of words: Latch.Words,
        _ body: (UnsafePointer<BoxedValue<Value>>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: `encode` has put them there, and they are aligned at least as strictly. What they reference, the caller keeps.
        try unsafe withUnsafePointer(to: words) { words throws(Failure) in
            try unsafe body(UnsafeRawPointer(words).assumingMemoryBound(to: BoxedValue<Value>.self))
        }
    }

    /// The value whose own bits `words` are. They reference nothing that is counted.
    @inlinable @inline(__always)
    static func decode(_ words: Latch.Words) -> Value {
        var words = words
        // Safe: as above; there is nothing to count, so that a copy of the bits is a value of its own.
        return unsafe withUnsafeMutablePointer(to: &words) {
            unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: Value.self).move()
        }
    }

    /// A copy of the value that `words` stand for. The caller pins what they reference, or owns it.
    @inlinable @inline(__always)
    static func copy(_ words: Latch.Words) -> Value {
        if isAlwaysInline { return decode(words) }
        // Safe, both: the caller keeps it.
        if isBoxed(words) { return unsafe ValueBox<Value>.value(at: words.first).pointee.value }
        return unsafe withBits(of: words) { unsafe $0.pointee.value }
    }

    /// Destroys what `encode` made. No other thread can be reading it.
    ///
    /// Releases through the reference, as for retired values: the optimiser (6.3) drops the release
    /// of a value moved out of raw words.
    @inlinable @inline(__always)
    static func discard(_ words: Latch.Words) {
        let reference = reference(in: words)
        if reference != 0 { releaseOwned(reference) }
    }
}
