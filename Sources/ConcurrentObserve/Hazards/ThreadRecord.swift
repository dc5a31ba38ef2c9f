// SPDX-License-Identifier: Apache-2.0

// # Hazards: how a thread says what it is using, and how another thread finds out
//
// Other threads may replace or end the table, the value or the observer that a thread uses. The
// thread therefore publishes the object's address first. A thread that wants to free objects reads
// all published addresses, and frees only the objects that none of them names. This room (folder)
// uses Platform. P1 to P25 are the promises of the article Contract.
//
// The main types. Begin with `HazardPointer.swift`.
// - `HazardPointer`: a word that protects one object. `protect` is the way to use it.
// - `Frame`: the hazard pointers of a pass: `pin` (a table or a value) and `current` (an observer).
// - `ThreadRecord`: one thread's frames, its `copyPin` for reads by copying, and the words that
//   other rooms keep for a thread.
// - `ThreadRecords`: the list of all records. Records are only added, and reused, never freed.
// - `ReadSection`: a few instructions that a grace period waits for.
// - `FrameScan`: the addresses that all hazard pointers hold at one moment.
//
// The life of a record: `ThreadRecord.current` finds the thread's record, or `attach` takes a free
// one, or makes one and pushes it on the list. `withFrame` runs a pass, which is one level deeper
// than the pass around it. When the thread exits, `ThreadRecords.release` keeps the record for the
// next new thread. (P17)
//
// There are two ways to protect an object:
// 1. A table, by `protectTable`: enter a `ReadSection`, load the address, store it in the pin,
//    leave the section. Before the table is freed, the reclamation thread waits for a grace period,
//    and then scans. (Without liburcu, a table is protected like a value.)
// 2. A value or an observer, by `protect`: see `HazardPointer`.
//
// Every part of the room obeys these rules:
// - Between entering and leaving a read section no user code runs. (P5)
// - Only the owner writes a record's frames. Any thread may read them.
// - A nested pass does not end the protection of an outer pass: a scan reads the outer frames, too.
//
// Source: M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS
// 15(6), 2004.

public import Synchronization

/// The state that the library keeps for one thread: its frames, its retired items, its counts, and
/// words of other rooms. (P17)
///
/// A thread gets its record on its first use of the library, and releases the record when it exits.
/// The next new thread takes the record over. Records are never freed, so a scan may walk their
/// list without a lock. The number of records is the largest number of threads that used the
/// library at one time.
@safe @usableFromInline
internal struct ThreadRecord: ~Copyable {
    /// The number of calls of user code on this thread's stack that are not callbacks: `onEnd`,
    /// deinitialisers, `==`, bodies of `modify`. Only the owner uses it.
    ///
    /// This property is the first one, because ThreadSanitizer reports a change of any of the
    /// owner's properties as a change of the record's first word.
    @usableFromInline var userCode = 0

    /// The number of frames in use: how deep passes are nested on this thread. Only the owner
    /// writes it. A scan reads only the frames in use.
    @usableFromInline let depth = Atomic<Int>(0)

    /// Protects the value that the thread is copying. Copying runs no user code, so such reads do
    /// not nest, and need no frame.
    @usableFromInline let copyPin = HazardPointer()

    /// The innermost `DeliveryScope` of the thread; nil if there is none. Only the owner uses it.
    /// The type is defined in `Property`, so it is not named here.
    var delivery: UnsafeRawPointer?

    /// The memory of the thread's `EvaluationStack`; nil until the thread evaluates a derived
    /// value. Only the owner uses it. The type is defined in `Derivation`, so it is not named here.
    var evaluation: UnsafeRawPointer?

    /// Whether the thread is making a reclamation pass. Such a thread must not wait for a pass.
    /// Only the owner uses it.
    var isReclaiming = false

    /// Whether the thread is one of the `DeinitThreads`. Only the owner uses it.
    var isDeinitThread = false

    /// The number of observations that ended on this record's threads because their token was
    /// released within about a second after they began. Only the owner writes it.
    let droppedTokens = Atomic<UInt32>(0)

    /// Identifies the body of a `modify` or of a commit that the thread runs; 0 if it runs none.
    /// Inside such a body, user code that changes a property in another way traps. Only the owner
    /// uses it; see `RunningBody`.
    var body: UInt = 0

    /// The addresses of the first items of two linked lists; 0 for an empty list. `pooled` has the
    /// items that the thread takes for reuse, and `kept` the items that it keeps for other threads.
    /// Only the owner uses the lists; see `ObserverPool`.
    var (pooled, kept): (UInt, UInt) = (0, 0)

    /// The number of items in the list `kept`. Only the owner uses it.
    var keptCount: UInt = 0

    /// The next record in the list of all records. It is constant once the record is in the list.
    var next: UnsafeMutablePointer<ThreadRecord>?

    /// The next record in the list of records without a thread. The lock of `ThreadRecords` guards
    /// it.
    var nextFree: UnsafeMutablePointer<ThreadRecord>?

    /// The address of the first `FrameBlock`, which has frames for nesting beyond `inlineFrames`; 0
    /// if there is none. The owner appends blocks, and scans read them.
    let deeperFrames = Atomic<UInt>(0)

    /// The address of the newest retired item that no reclamation pass has taken yet; 0 if there is
    /// none. It is the top of a stack: each item has the address of the next one.
    let retired = Atomic<UInt>(0)

    /// The address of the record's `Magazine`, or 0 before it has one. The owner stores it once.
    let magazine = Atomic<UInt>(0)

    /// The address of the record's `ReferenceRing`, or 0 before it has one. The owner stores it
    /// once.
    let ring = Atomic<UInt>(0)

    /// The number of items that this record's threads have retired. Only the owner writes it.
    let retiredCount = Atomic<UInt>(0)

    /// The number of items that reclamation passes have taken from this record. Only a thread that
    /// holds the pass lock of the `ReclamationThread` writes it.
    let takenCount = Atomic<UInt>(0)

    /// The number of observations that began on this record's threads, minus the number of
    /// observations that ended on them. Only the owner writes it.
    let liveObservers = Atomic<Int>(0)

    /// The number of events that were dropped on this record's threads, for any observer. Only the
    /// owner writes it.
    let droppedCount = Atomic<UInt>(0)

    /// The number of events that were sent on this record's threads, minus the number of events
    /// that were received or dropped on them. Only the owner writes it.
    let pendingCount = Atomic<Int>(0)

    /// The number of frames inside the record. Passes that nest no deeper need no allocation. (P15)
    @usableFromInline static var inlineFrames: Int { 8 }

    /// The distance in bytes from the record to its frames. They start on a cache line of their
    /// own.
    @usableFromInline static var framesOffset: Int { 192 }

    /// Says whether the thread's commit has made its changes: see `CommitDecision`.
    let decision = CommitDecision()

    private init() {}
}

extension ThreadRecord {
    /// Allocates a new record, followed by its frames. It is never freed.
    static func allocate() -> UnsafeMutablePointer<ThreadRecord> {
        assert(MemoryLayout<ThreadRecord>.size <= framesOffset && MemoryLayout<Frame>.stride == 32)
        // Safe: never freed; `inlineFrames` reads this layout.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: framesOffset + inlineFrames * MemoryLayout<Frame>.stride,
            alignment: 128
        )
        let record = unsafe memory.bindMemory(to: ThreadRecord.self, capacity: 1)
        unsafe record.initialize(to: ThreadRecord())
        for index in 0..<inlineFrames {
            unsafe (memory + framesOffset).assumingMemoryBound(to: Frame.self).advanced(by: index).initialize(
                to: Frame()
            )
        }
        return unsafe record
    }

    /// The number of existing records.
    static var count: Int { ThreadRecords.shared.count }
}

extension ThreadRecord {
    /// Adds `step` to this thread's number of live observations: a positive step if observations
    /// began, a negative one if they ended. The diagnostics read the number.
    @usableFromInline
    static func countLiveObserver(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.liveObservers.store(
            counter.pointee.liveObservers.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Adds `step` to this thread's number of waiting events: a positive step if events were sent,
    /// a negative one if events were received or dropped. The diagnostics read the number.
    @usableFromInline
    static func countPending(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.pendingCount.store(
            counter.pointee.pendingCount.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Adds `count` to this thread's number of dropped events, which their observers do not
    /// receive. The diagnostics read the number.
    @usableFromInline
    static func countDropped(_ count: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.droppedCount.store(
            counter.pointee.droppedCount.load(ordering: .relaxed) &+ UInt(count),
            ordering: .relaxed
        )
    }

    /// Counts an observation whose token was released within about a second after it began, for the
    /// diagnostics.
    static func countDroppedToken() {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.droppedTokens.store(
            counter.pointee.droppedTokens.load(ordering: .relaxed) &+ 1,
            ordering: .relaxed
        )
    }
}

extension ThreadRecord {
    /// Whether the thread whose record is at `address` has made the changes that it has prepared.
    /// (P19)
    static func hasCommitted(_ address: UInt) -> Bool {
        // Safe: records are never freed.
        unsafe UnsafePointer<ThreadRecord>(bitPattern: address).unsafelyUnwrapped.pointee.decision.isMade
    }
}
