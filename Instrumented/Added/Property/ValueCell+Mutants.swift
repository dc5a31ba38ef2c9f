// SPDX-License-Identifier: Apache-2.0

extension ValueCell {
    @usableFromInline
    borrowing func wordsOfOtherSlot() -> Latch.Words {
        latch.words(of: version &+ 1, firstOnly: Encoding.needsOneWord)
    }

    /// Ends the pin before it uses what it has loaded.
    @inlinable
    borrowing func afterItsPin<Result, Failure: Error>(
        _ body: (Latch.Words, _ version: UInt64) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: as in whilePinned(_:), but for what is looked for.
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        let (words, version) = unsafe pin(in: frame)
        unsafe frame.pointee.unpin()
        inject("read.pinned")
        defer {
            exploredRead(Encoding.reference(in: words))
            unsafe record.leaveFrame()
        }
        return try body(words, version)
    }
}
