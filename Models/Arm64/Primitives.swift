// SPDX-License-Identifier: Apache-2.0

// The functions whose instructions Scripts/check-arm64.sh looks at: the library's own pieces, and
// what each ordering becomes by itself. What these pieces need of others is nothing.

public import CPlatform
import Synchronization

@usableFromInline enum Fork { @inlinable static func trapInChild() {} }
@inlinable @inline(__always) public func compilerBarrier() { cplatform_compiler_barrier() }
public enum AsymmetricBarrier {
    public static var needsFences: Bool { false }
    @inlinable @inline(__always) public static func light(fenced: Bool, _ observer: UInt) -> UInt {
        cplatform_compiler_barrier()
        return observer
    }
}
/// The decision is the first word of a record here.
enum ThreadRecord {
    static func hasCommitted(_ address: UInt) -> Bool {
        unsafe UnsafePointer<CommitDecision>(bitPattern: address).unsafelyUnwrapped.pointee.isMade
    }
}

// MARK: The library's pieces

@_cdecl("latch_load") func latchLoad(_ latch: UnsafeRawPointer) -> UInt {
    let words = unsafe latch.assumingMemoryBound(to: Latch.self).pointee.load().words
    return words.first &+ words.second
}
@_cdecl("latch_publish") func latchPublish(_ latch: UnsafeRawPointer, _ word: UInt) -> UInt64 {
    unsafe latch.assumingMemoryBound(to: Latch.self).pointee.publish(Latch.Words(first: word, second: word))
}
@_cdecl("latch_version") func latchVersion(_ latch: UnsafeRawPointer) -> UInt64 {
    unsafe latch.assumingMemoryBound(to: Latch.self).pointee.presentVersion
}
@_cdecl("latch_resolved") func latchResolved(_ latch: UnsafeRawPointer) -> UInt64 {
    unsafe Latch.resolvedVersion(latch.assumingMemoryBound(to: Latch.self).pointee)
}
@_cdecl("latch_prepare") func latchPrepare(_ latch: UnsafeRawPointer, _ word: UInt, _ committer: UInt) {
    unsafe latch.assumingMemoryBound(to: Latch.self).pointee
        .prepare(Latch.Words(first: word, second: word), by: committer)
}
@_cdecl("latch_settle") func latchSettle(_ latch: UnsafeRawPointer) -> UInt64 {
    unsafe latch.assumingMemoryBound(to: Latch.self).pointee.settle()
}
@_cdecl("decision_reset") func decisionReset(_ decision: UnsafeRawPointer) {
    unsafe decision.assumingMemoryBound(to: CommitDecision.self).pointee.reset()
}
@_cdecl("decision_make") func decisionMake(_ decision: UnsafeRawPointer) {
    unsafe decision.assumingMemoryBound(to: CommitDecision.self).pointee.make()
}
@_cdecl("frame_clear") func frameClear(_ frame: UnsafeRawPointer) {
    unsafe frame.assumingMemoryBound(to: Frame.self).pointee.clear()
}
@_cdecl("lock_try") func lockTry(_ lock: UnsafeRawPointer) -> Bool {
    unsafe lock.assumingMemoryBound(to: Lock.self).pointee.tryLock()
}
@_cdecl("lock_unlock") func lockUnlock(_ lock: UnsafeRawPointer) {
    unsafe lock.assumingMemoryBound(to: Lock.self).pointee.unlock()
}
@_cdecl("drain_enter") func drainEnter(_ loop: UnsafeRawPointer) -> Bool {
    unsafe loop.assumingMemoryBound(to: DrainLoop.self).pointee.enter()
}
@_cdecl("drain_leave") func drainLeave(_ loop: UnsafeRawPointer) -> Bool {
    unsafe loop.assumingMemoryBound(to: DrainLoop.self).pointee.leave()
}
@_cdecl("core_retain") func coreRetain(_ count: UnsafeRawPointer) -> Bool {
    unsafe count.assumingMemoryBound(to: BiasedReferenceCount.self).pointee.retain()
}
@_cdecl("core_release") func coreRelease(_ count: UnsafeRawPointer) -> Bool {
    unsafe count.assumingMemoryBound(to: BiasedReferenceCount.self).pointee.release()
}
@_cdecl("core_end") func coreEnd(_ count: UnsafeRawPointer) -> Bool {
    unsafe count.assumingMemoryBound(to: BiasedReferenceCount.self).pointee.endSource(others: 0)
}

/// W6 to W8: `current` is stored, the light barrier, the mark is loaded.
@_cdecl("walk_step") func walkStep(_ frame: UnsafeRawPointer, _ entry: UnsafeRawPointer, _ observer: UInt) -> UInt {
    unsafe frame.assumingMemoryBound(to: Frame.self).pointee.current.protect(observer) {
        unsafe entry.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .relaxed) == observer
    } ?? 0
}

// MARK: Each ordering

@_cdecl("load_relaxed") func loadRelaxed(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .relaxed)
}
@_cdecl("load_acquiring") func loadAcquiring(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .acquiring)
}
@_cdecl("load_seq") func loadSeq(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .sequentiallyConsistent)
}
@_cdecl("store_relaxed") func storeRelaxed(_ word: UnsafeRawPointer) {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.store(1, ordering: .relaxed)
}
@_cdecl("store_releasing") func storeReleasing(_ word: UnsafeRawPointer) {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.store(1, ordering: .releasing)
}
@_cdecl("store_seq") func storeSeq(_ word: UnsafeRawPointer) {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.store(1, ordering: .sequentiallyConsistent)
}
@_cdecl("fence_acquiring") func fenceAcquiring() { atomicMemoryFence(ordering: .acquiring) }
@_cdecl("fence_releasing") func fenceReleasing() { atomicMemoryFence(ordering: .releasing) }
@_cdecl("fence_seq") func fenceSeq() { atomicMemoryFence(ordering: .sequentiallyConsistent) }
@_cdecl("exchange_acquiring") func exchangeAcquiring(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.exchange(0, ordering: .acquiring)
}
@_cdecl("exchange_releasing") func exchangeReleasing(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.exchange(0, ordering: .releasing)
}
@_cdecl("or_acquiring") func orAcquiring(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.bitwiseOr(2, ordering: .acquiring).oldValue
}
@_cdecl("or_releasing") func orReleasing(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.bitwiseOr(2, ordering: .releasing).oldValue
}
@_cdecl("add_seq") func addSeq(_ word: UnsafeRawPointer) -> UInt {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        .oldValue
}
@_cdecl("cas_acquiring") func casAcquiring(_ word: UnsafeRawPointer) -> Bool {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.compareExchange(
        expected: 0,
        desired: 1,
        ordering: .acquiring
    ).exchanged
}
@_cdecl("cas_seq") func casSeq(_ word: UnsafeRawPointer) -> Bool {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.compareExchange(
        expected: 0,
        desired: 1,
        ordering: .sequentiallyConsistent
    ).exchanged
}
@_cdecl("cas_both") func casBoth(_ word: UnsafeRawPointer) -> Bool {
    unsafe word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.compareExchange(
        expected: 0,
        desired: 1,
        ordering: .acquiringAndReleasing
    ).exchanged
}
