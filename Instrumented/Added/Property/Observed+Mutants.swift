// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// The version that a change under way will have.
    @usableFromInline
    var versionAhead: UInt64 { cell.version &+ (mutation.isHeld ? 1 : 0) }

    /// Registers, and returns a value from before.
    func publishAfterSample(_ observer: VersionedObserver) -> (value: Value, version: UInt64) {
        let early = cell.load()
        _ = publishAndSample(observer)
        return early
    }

    @usableFromInline
    func deliverInitialOfNextVersion(_ present: (value: Value, version: UInt64), to observer: Observer) {
        Change.initial((present.value, present.version &+ 1)).deliver(to: observer.address)
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
        return commit(words, newValue)
    }

    @usableFromInline
    func publishUnasked(_ draft: Value) { cell.publish(cell.encode(draft)).retire() }
}
