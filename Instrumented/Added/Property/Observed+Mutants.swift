// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// The version that a change under way will have.
    @usableFromInline
    var versionAhead: UInt64 { cell.version &+ (mutation.isHeld ? 1 : 0) }

    /// Attaches an observer, and returns a value from before.
    @usableFromInline
    func attachAfterSample(_ observer: VersionedObserver) -> (value: Value, version: UInt64) {
        let early = cell.load()
        inject("initial.sampled")
        attach(observer) { _ in }
        return early
    }

    @usableFromInline
    func exchangeAndReturnNew(_ newValue: Value) -> Value {
        change(to: newValue).retire()
        return newValue
    }

    @usableFromInline
    func valueBroughtBack(_ newValue: Value) -> Value { cell.version & 1 == 1 ? cell.load().value : newValue }

    @usableFromInline
    func commitAfterLock(_ words: Latch.Words, _ newValue: Value) -> ValueCell<Value>.Replaced {
        mutation.acquire(cell.latch.owner)
        inject("set.locked")
        mutation.release()
        return commitLocked(words, newValue)
    }

    @usableFromInline
    func publishUnasked(_ draft: Value) { cell.publishLocked(cell.encode(draft)).retire() }
}
