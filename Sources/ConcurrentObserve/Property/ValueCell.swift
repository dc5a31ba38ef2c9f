// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The memory of a property's value: read by any thread at any time, replaced by one at a time.
///
/// The latch holds the value's bits, or the address of a box. A thread that follows the address is in a read section, or pins the box;
/// a replaced box is retired.
@usableFromInline
internal struct ValueCell<Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline typealias Encoding = ValueEncoding<Value>

    @usableFromInline let latch: Latch

    @inlinable
    init(_ value: Value) { latch = Latch(Encoding.encode(value)) }

    deinit {
        #if INSTRUMENTED
        if mutant(.aPropertysDeathLeaksItsValue) { return }
        #endif
        Encoding.discard(latch.load().words)
    }
}

// MARK: - Reading

extension ValueCell {
    /// The number of changes so far.
    @inlinable
    var version: UInt64 {
        // Acquire: pairs with the release in publish(_:); a read that follows sees this version or a later one.
        latch.version.load(ordering: .acquiring)
    }

    /// A copy of the value. Any thread; lock-free.
    @inlinable @inline(__always)
    borrowing func copy() -> Value {
        if !Encoding.isAlwaysBoxed {
            let words = loadWords()
            // Nil takes the longer way: one test is faster than two.
            if Encoding.isAlwaysInline || _fastPath(words.second != 0) { return Encoding.decode(words) }
        }
        return Self.copyFromBox(self)
    }

    @inlinable @inline(__always)
    borrowing func loadWords() -> Latch.Words {
        #if INSTRUMENTED
        if mutant(.aReadTakesTheOtherSlot) { return wordsOfOtherSlot() }
        #endif
        return latch.load(firstOnly: Encoding.needsOneWord).words
    }

    /// A copy of the value, and its version. Any thread; lock-free.
    @inlinable @inline(__always)
    borrowing func load() -> (value: Value, version: UInt64) {
        guard Encoding.isAlwaysInline else { return Self.loadFromBox(self) }
        let (words, version) = latch.load(firstOnly: Encoding.needsOneWord)
        return (Encoding.decode(words), version)
    }

    // Out of line, both, so that a caller that is asynchronous never keeps a thread's address across a suspension. Static: a
    // method's self takes a register that the caller would have to save on the short way, too.

    @inlinable @inline(never)
    static func copyFromBox(_ cell: borrowing ValueCell) -> Value {
        cell.inReadSection { words, _ in Encoding.copy(words) }
    }

    @inlinable @inline(never)
    static func loadFromBox(_ cell: borrowing ValueCell) -> (value: Value, version: UInt64) {
        cell.inReadSection { words, version in (Encoding.copy(words), version) }
    }

    @inlinable @inline(__always)
    borrowing func inReadSection<Result>(_ body: (Latch.Words, _ version: UInt64) -> Result) -> Result {
        #if INSTRUMENTED
        if mutant(.aValueIsReadAfterTheReadSection) { return afterReadSection(body) }
        #endif
        ReadSection.enter()
        let (words, version) = latch.load(firstOnly: Encoding.needsOneWord)
        inject("read.box")
        let result = body(words, version)
        exploredRead(words.first)
        ReadSection.leave()
        return result
    }

    /// Lends the value to `body`, which may take its time: a box is pinned, as a table is by a walk.
    @inlinable @inline(__always)
    borrowing func lend<Result, Failure: Error>(
        to body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: records are never freed; the frame is this reader's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer { unsafe record.leaveFrame() }
        if Encoding.isAlwaysInline { return try body(copy()) }

        ReadSection.enter()
        let words = latch.load(firstOnly: Encoding.needsOneWord).words
        guard Encoding.isBoxed(words) else {
            ReadSection.leave()
            return try body(Encoding.decode(words))
        }
        inject("lend.loaded")
        unsafe Self.pin(words.first, in: frame)
        ReadSection.leave()
        // And with it the references that `body` has made of what it was lent.
        defer { unsafe frame.pointee.clear() }
        defer { exploredRead(words.first) }
        // Safe: the pin keeps the box.
        return try unsafe ValueBox<Value>.value(at: words.first).pointee.lend(to: body)
    }
}

extension ValueCell {
    /// Pins the box at `address`, in the read section in which it was loaded.
    @inlinable @inline(__always)
    static func pin(_ address: UInt, in frame: UnsafeMutablePointer<Frame>) {
        #if INSTRUMENTED
        if mutant(.aBorrowedValueIsNotPinned) { return }
        #endif
        // Relaxed: the thread that frees the box waits for this section, which makes the pin visible.
        unsafe frame.pointee.pin.store(address, ordering: .relaxed)
    }
}

// MARK: - Replacing

extension ValueCell {
    /// A value that has been replaced, and the version of the change that did it. Belongs to the thread that made the change.
    @usableFromInline
    struct Replaced: ~Copyable {
        @usableFromInline let words: Latch.Words
        @usableFromInline let version: UInt64
        /// Names the property: see `Retirable.source`.
        @usableFromInline let source: UInt

        @inlinable
        init(words: Latch.Words, version: UInt64, source: UInt) {
            (self.words, self.version, self.source) = (words, version, source)
        }

        /// A copy of the value.
        @inlinable
        var value: Value { Encoding.copy(words) }

        /// Hands the value over for destruction, elsewhere, when its last reader has finished. Under no lock. (P5, P14)
        @inlinable
        consuming func retire() {
            if Encoding.isBoxed(words) { ValueBox<Value>.retire(at: words.first, from: source) }
        }
    }

    /// Publishes what `words` stand for as the next version. Under the property's lock.
    @inlinable @inline(__always)
    borrowing func publish(_ words: Latch.Words) -> Replaced {
        let replaced = latch.load().words
        return Replaced(words: replaced, version: latch.publish(words), source: source)
    }

    /// What the property's values are known by among all that waits to be destroyed.
    @inlinable @inline(__always)
    var source: UInt {
        // Safe: an address only; atomics are never copied to be lent.
        unsafe withUnsafePointer(to: latch.version) { UInt(bitPattern: $0) }
    }
}
