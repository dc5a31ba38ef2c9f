// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension ValueCell {
    @usableFromInline
    borrowing func wordsOfOtherSlot() -> Latch.Words {
        latch.words(of: version &+ 1, firstOnly: Encoding.needsOneWord)
    }

    /// Leaves the read section before it uses what it has loaded there.
    @inlinable
    borrowing func afterReadSection<Result>(_ body: (Latch.Words, _ version: UInt64) -> Result) -> Result {
        ReadSection.enter()
        let (words, version) = latch.load(firstOnly: Encoding.needsOneWord)
        ReadSection.leave()
        inject("read.box")
        let result = body(words, version)
        exploredRead(words.first)
        return result
    }
}
#endif
