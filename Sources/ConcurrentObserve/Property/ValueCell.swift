// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObservePlatform
public import Synchronization

/// The memory of a property's value. Any thread may read the value at any time; one thread at a
/// time replaces it.
///
/// The latch holds the value's bits, or the address of its box. A thread that follows an address
/// pins the box first, by a hazard pointer: it stores the address, and then checks whether the
/// loaded version is still the present one. A replaced box is retired. (Michael, "Hazard Pointers:
/// Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 15(6), 2004.)
@usableFromInline
internal struct ValueCell<Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline typealias Encoding = ValueEncoding<Value>

    @usableFromInline let latch: Latch

    @inlinable
    init(_ value: Value, version: UInt64) {
        let mark = ValueMark.of(Value.self)
        latch = Latch(Encoding.encode(value, mark: mark), spare: Latch.Words(second: mark), version: version)
    }

    deinit {
        Encoding.discard(latch.load().words)
    }

    /// Returns the words that stand for `value`. If the value is not stored as its own bits, takes
    /// a box for it.
    @inlinable @inline(__always)
    borrowing func encode(_ value: Value) -> Latch.Words {
        // Relaxed: the mark is the second word of both slots from the start, and never changes.
        Encoding.encode(value, mark: Encoding.isAlwaysInline ? 0 : latch.even.second.load(ordering: .relaxed))
    }
}

// MARK: - Reading

extension ValueCell {
    /// The number of changes so far.
    @inlinable @inline(__always)
    var version: UInt64 { latch.presentVersion }

    /// Returns a copy of the value. Any thread; lock-free.
    @inlinable @inline(__always)
    borrowing func copy() -> Value {
        guard Encoding.isAlwaysInline else { return Self.copyPinned(self) }
        return Encoding.decode(latch.load(firstOnly: Encoding.needsOneWord).words)
    }

    /// Returns a copy of the value, and its version. Any thread; lock-free.
    @inlinable @inline(__always)
    borrowing func load() -> (value: Value, version: UInt64) {
        guard Encoding.isAlwaysInline else { return Self.loadPinned(self) }
        let (words, version) = latch.load(firstOnly: Encoding.needsOneWord)
        return (Encoding.decode(words), version)
    }

    /// Returns a copy of the value, without a pin: the caller must hold the mutation lock, so no
    /// other thread replaces the value.
    @inlinable @inline(__always)
    borrowing func copyLocked() -> Value {
        Encoding.copy(latch.wordsLocked(firstOnly: Encoding.needsOneWord))
    }

    // Out of line, both, so that a caller that is asynchronous never keeps a thread's address
    // across a suspension. Static: a method's self takes a register that the caller would have to
    // save on the fast path, too.

    @inlinable @inline(never)
    static func copyPinned(_ cell: borrowing ValueCell) -> Value { readPinned(cell).value }

    @inlinable @inline(never)
    static func loadPinned(_ cell: borrowing ValueCell) -> (value: Value, version: UInt64) { readPinned(cell) }

    /// Reads the value and its version. The fast path tries once, and calls no function for which
    /// it would have to save registers. If it fails, `readAgain` reads.
    @inlinable @inline(__always)
    static func readPinned(_ cell: borrowing ValueCell) -> (value: Value, version: UInt64) {
        guard let record = unsafe ThreadRecord.own, !AsymmetricBarrier.needsFences else { return readAgain(cell) }
        let (words, word) = cell.latch.loadUnchecked(firstOnly: Encoding.needsOneWord)
        let version = word & ~Latch.preparedMark
        // One comparison for the words and the pin, as in Latch.loadWithWord(firstOnly:) and in
        // isPinned(_:). Safe: records are never freed.
        let box = unsafe record.pointee.copyPin.protect(Encoding.reference(in: words), fenced: false) {
            cell.latch.isStill(version)
        }
        guard _fastPath(box != nil) else { return readAgain(cell) }
        defer { unsafe record.pointee.copyPin.clear() }
        return (Encoding.copy(words), version)
    }

    /// Reads the value and its version if the fast path of `readPinned` cannot. The reasons: the
    /// thread has no record, the system has no membarrier, a commit has prepared a change, or a
    /// change was published during the read.
    @inlinable @inline(never)
    static func readAgain(_ cell: borrowing ValueCell) -> (value: Value, version: UInt64) {
        ThreadRecord.withCopyPin { pin in
            let (words, version) = cell.protect(by: pin)
            return (Encoding.copy(words), version)
        }
    }

    /// Lends the value to `body`, and returns the result of `body`. A frame pins the value's box,
    /// if there is one, until `body` returns. Therefore `body` may run for a long time.
    @inlinable @inline(__always)
    borrowing func lend<Result, Failure: Error>(
        to body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: the frame is this reader's until the call returns.
        try unsafe ThreadRecord.withFrame { frame throws(Failure) in
            let words = unsafe protect(by: frame.pointee.pin).words
            if Encoding.isAlwaysInline { return try body(Encoding.decode(words)) }
            // Safe: the pin keeps the box.
            return try unsafe ValueBox<Value>.value(at: words.first).pointee.lend(to: body)
        }
    }
}

// MARK: - Pinning

extension ValueCell {
    /// Loads the words of the present version, and protects their box, if there is one, with `pin`.
    /// Returns the words and the version. Lock-free: it repeats only if another version was
    /// published.
    @inlinable @inline(__always)
    borrowing func protect(by pin: borrowing HazardPointer) -> (words: Latch.Words, version: UInt64) {
        while true {
            let (words, version, word) = latch.loadWithWord(firstOnly: Encoding.needsOneWord)
            if Encoding.isAlwaysInline { return (words, version) }
            let box = pin.protect(Encoding.reference(in: words), ifStill: { isPinned(word) })
            if _fastPath(box != nil) { return (words, version) }
        }
    }

    /// Whether the pin protects the box whose address was loaded together with `word`. It does if
    /// other threads could see the pin before the box was retired.
    ///
    /// The result is also right if a commit has prepared the version, whichever slot was read: no
    /// box is retired before the commit has settled the version.
    @inlinable @inline(__always)
    borrowing func isPinned(_ word: UInt64) -> Bool {
        // Relaxed: the light barrier orders it after the store of the pin. Before the thread that
        // releases the box executes the heavy barrier and scans, the box's successor was published:
        // either this load sees the successor, or the scan sees the pin.
        return latch.version.load(ordering: .relaxed) == word
    }
}

// MARK: - Replacing

extension ValueCell {
    /// A value that a change has replaced, and the version of that change. It belongs to the thread
    /// that made the change.
    @usableFromInline
    struct Replaced: ~Copyable {
        @usableFromInline let words: Latch.Words
        @usableFromInline let version: UInt64
        /// The address that identifies the property: see `Retirable.sourceAddress`.
        @usableFromInline let source: UInt

        @inlinable
        init(words: Latch.Words, version: UInt64, source: UInt) {
            (self.words, self.version, self.source) = (words, version, source)
        }

        /// A copy of the value.
        @inlinable
        var value: Value { Encoding.copy(words) }

        /// Retires the value. The value is destroyed when its last reader has finished: by this
        /// thread, or by a thread of the library if the destruction may run user code or takes
        /// long. The caller must hold no lock. (P5, P14)
        @inlinable @inline(__always)
        consuming func retire() {
            if !Encoding.isAlwaysInline { ValueBox<Value>.retire(words, from: source) }
        }
    }

    /// Publishes the value that `words` stand for as the next version. Requires the mutation lock.
    @inlinable @inline(__always)
    borrowing func publishLocked(_ words: Latch.Words) -> Replaced {
        let replaced = latch.wordsLocked(firstOnly: Encoding.isAlwaysInline && Encoding.needsOneWord)
        return Replaced(words: replaced, version: latch.publish(words), source: address)
    }

    /// The address of the latch. It identifies the property to which a retired value belongs.
    @inlinable @inline(__always)
    var address: UInt {
        // Safe: an address only; atomics are never copied to be lent. `version` comes first in a
        // latch.
        unsafe withUnsafePointer(to: latch.version) { UInt(bitPattern: $0) }
    }
}
