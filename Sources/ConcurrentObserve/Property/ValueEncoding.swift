// SPDX-License-Identifier: Apache-2.0

/// How a property's value becomes the two words of its latch.
///
/// A value that fits and references nothing is stored as its own bits. Any other value is in a box:
/// the first word is the box's address, and the latch owns the box. The second word is then the
/// property's mark, which says how a replaced box is destroyed. It never changes.
@usableFromInline
internal enum ValueEncoding<Value: Sendable> {
    /// Whether values are stored as their own bits. A constant once `Value` is known.
    @inlinable @inline(__always)
    static var isAlwaysInline: Bool {
        _isPOD(Value.self) && MemoryLayout<Value>.size <= MemoryLayout<Latch.Words>.size
            && MemoryLayout<Value>.alignment <= MemoryLayout<Latch.Words>.alignment
    }

    /// Whether readers do without the second word.
    @inlinable @inline(__always)
    static var needsOneWord: Bool { !isAlwaysInline || MemoryLayout<Value>.size <= MemoryLayout<UInt>.size }

    /// The address of the box, or 0 if the words are bits. A reader pins the box, and it is
    /// released at last.
    @inlinable @inline(__always)
    static func reference(in words: Latch.Words) -> UInt { isAlwaysInline ? 0 : words.first }

    /// The words that stand for `value`. Takes a box for what is not its own bits.
    ///
    /// - Parameter mark: The property's mark; unused for bits.
    @inlinable @inline(__always)
    static func encode(_ value: Value, mark: UInt) -> Latch.Words {
        guard isAlwaysInline else { return Latch.Words(first: ValueBox<Value>.allocate(value), second: mark) }
        var words = Latch.Words()
        // Safe: the value fits, and references nothing.
        unsafe withUnsafeMutableBytes(of: &words) { unsafe $0.storeBytes(of: value, as: Value.self) }
        return words
    }

    /// The value whose own bits `words` are.
    @inlinable @inline(__always)
    static func decode(_ words: Latch.Words) -> Value {
        // Safe: `encode` has put the bits there. They reference nothing, so their copy is a value.
        unsafe withUnsafeBytes(of: words) { unsafe $0.load(as: Value.self) }
    }

    /// A copy of the value that `words` stand for. The caller pins the box, or owns it.
    @inlinable @inline(__always)
    static func copy(_ words: Latch.Words) -> Value {
        // Safe: the caller keeps the box.
        isAlwaysInline ? decode(words) : unsafe ValueBox<Value>.value(at: words.first).pointee.value
    }

    /// Destroys what `encode` made. No other thread can be reading it.
    @inlinable @inline(__always)
    static func discard(_ words: Latch.Words) { if !isAlwaysInline { releaseOwned(words.first) } }
}
