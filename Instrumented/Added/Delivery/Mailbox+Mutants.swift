// SPDX-License-Identifier: Apache-2.0

extension Mailbox {
    /// Whether the end is not put in.
    @usableFromInline
    mutating func losesEnd() -> Bool {
        if mutant(.anEndIsDroppedByThePolicy), let capacity, waiting.count >= capacity { return true }
        if mutant(.anEndDiscardsWaitingChanges) {
            counter.countDropped(waiting.count)
            waiting = RingBuffer()
        }
        return false
    }
}
