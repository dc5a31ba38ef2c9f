// SPDX-License-Identifier: Apache-2.0

extension ValueCell {
    @usableFromInline
    borrowing func wordsOfOtherSlot() -> Latch.Words {
        latch.words(of: version &+ 1, firstOnly: Encoding.needsOneWord)
    }
}
