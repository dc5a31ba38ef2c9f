// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What the library keeps for one thread: its frames, and what it has retired. (P17)
///
/// A thread gets its record on its first use of the library and releases it when it exits. The
/// next new thread takes the record over. Records are never freed, so a scan may walk their list
/// without a lock: there are as many records as there ever were threads at once.
@safe @usableFromInline
internal struct ThreadRecord: ~Copyable {
    /// How many calls of other user code are on this thread's stack: `onEnd`, deinitialisers, `==`,
    /// bodies of `modify`. Owner alone.
    ///
    /// It comes first: ThreadSanitizer reports a change of any of the owner's fields as one of the
    /// record's first word.
    @usableFromInline var userCode = 0

    /// Frames in use: the nesting of passes on this thread. Written by the owner alone; scans look
    /// at so many frames.
    @usableFromInline let depth = Atomic<Int>(0)

    /// What the thread delivers a change in the course of, if anything. Owner alone; see
    /// `DeliveryContext`.
    var context: UnsafeMutablePointer<ContextSlot>?

    /// What the thread's commit reaches, while it looks for that under its locks. Owner alone; see `CommitReach`.
    var commitReach: UnsafeMutableRawPointer?

    /// What the bindings make of the commit that the thread announces, while it calls them. Owner alone; see `CarriedCommit`.
    var carriedCommit: UnsafeMutableRawPointer?

    /// The innermost evaluation of a derived value on the thread's stack, if there is one. Owner
    /// alone; the room above knows what it is.
    var evaluation: UnsafeRawPointer?

    /// Whether the thread is in a reclamation pass, which must not wait for itself. Owner alone.
    var isReclaiming = false

    /// Whether the thread was in user code when the process forked, and does not exist in this
    /// child. No other thread takes the record over, so that what the thread has left behind is not
    /// taken for another thread's. Written in the child, before it has other threads.
    var isAbandoned = false

    /// Whether the thread is inside a source's lock, or about to look whether it may enter. Written
    /// by the owner alone.
    let isInsideGate = Atomic<Bool>(false)

    /// Whether the thread is one of the `DeinitThreads`. Owner alone.
    var isDeinitThread = false

    /// Observations that ended on this record's threads because their token was released within
    /// their first second. Written by the owner alone.
    let droppedTokens = Atomic<UInt32>(0)

    /// The body of a `modify` or of a commit that the thread runs, in which it changes no other property, or 0. Owner alone; see
    /// `RunningBody`.
    var body: UInt = 0

    /// liburcu's reader of the record's threads, unless liburcu keeps it itself. Owner alone; see
    /// `ReadSection.attach(_:)`.
    var reader: UnsafeMutableRawPointer?

    /// The addresses of the first of the items that the thread takes for reuse, linked, and of
    /// those that it keeps for others, or 0. Owner alone; see `ObserverPool`.
    var (pooled, kept): (UInt, UInt) = (0, 0)

    /// How many items the thread keeps for others. Owner alone.
    var keptCount: UInt = 0

    /// The next record of the list of all. Constant once the record is on the list.
    var next: UnsafeMutablePointer<ThreadRecord>?

    /// The next record that waits for a thread. Guarded by the lock of `ThreadRecords`.
    var nextFree: UnsafeMutablePointer<ThreadRecord>?

    /// Frames for nesting beyond `inlineFrames`, or 0. Appended by the owner, read by scans.
    let deeperFrames = Atomic<UInt>(0)

    /// The retired items that no pass has taken yet: a stack linked through the items, or 0.
    let retired = Atomic<UInt>(0)

    /// The address of the record's magazine, or 0 before its first. Stored once, by the owner.
    let magazine = Atomic<UInt>(0)

    /// The address of the record's ring of references, or 0 before its first. Stored once, by the
    /// owner.
    let ring = Atomic<UInt>(0)

    /// Items this record's threads have retired. Written by the owner alone.
    let retiredCount = Atomic<UInt>(0)

    /// Items that passes have taken from this record. Written under the pass lock of the
    /// `ReclamationThread` alone.
    let takenCount = Atomic<UInt>(0)

    /// Observations that began on this record's threads, less those that ended on them. Written by
    /// the owner alone.
    let liveObservers = Atomic<Int>(0)

    /// Events that were dropped on this record's threads, for any observer. Written by the owner
    /// alone.
    let droppedCount = Atomic<UInt>(0)

    /// Events that were sent on this record's threads, less those that were received or dropped on
    /// them. Written by the owner alone.
    let pendingCount = Atomic<Int>(0)

    /// Passes that nest this deep use a frame inside the record: no allocation. (P15)
    @usableFromInline static var inlineFrames: Int { 8 }

    /// The frames follow the record at this distance, in bytes: they start on a cache line of their
    /// own.
    @usableFromInline static var framesOffset: Int { 192 }

    /// Whether the thread's commit is decided: see `CommitDecision`.
    let decision = CommitDecision()

    private init() {}
}

extension ThreadRecord {
    /// A new record with its frames behind it. It is never freed.
    static func allocate() -> UnsafeMutablePointer<ThreadRecord> {
        assert(MemoryLayout<ThreadRecord>.size <= framesOffset && MemoryLayout<Frame>.stride == 32)
        // Safe: never freed; the layout is the one that `inlineFrames` reads.
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

    /// Records in existence.
    static var count: Int { ThreadRecords.shared.count }
}
