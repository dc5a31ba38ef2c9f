// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The state that the library keeps for one thread: its frames, and its retired items. (P17)
///
/// A thread gets its record on its first use of the library, and releases it when it exits. The
/// next new thread takes the record over. Records are never freed, so a scan may walk their list
/// without a lock. There are as many records as there ever were threads at once.
@safe @usableFromInline
internal struct ThreadRecord: ~Copyable {
    /// The number of calls of user code on this thread's stack that are not callbacks: `onEnd`,
    /// deinitialisers, `==`, bodies of `modify`. Only the owner uses it.
    ///
    /// It comes first, because ThreadSanitizer reports a change of any of the owner's fields as a
    /// change of the record's first word.
    @usableFromInline var userCode = 0

    /// The number of frames in use: the nesting of passes on this thread. Only the owner writes it;
    /// scans look at this number of frames.
    @usableFromInline let depth = Atomic<Int>(0)

    /// Describes the change that the thread is delivering, if there is one. Only the owner uses it;
    /// see `DeliveryContext`.
    var context: UnsafeMutablePointer<ContextSlot>?

    /// The combinations that the thread's commit reaches, while the commit collects them under its
    /// locks. Only the owner uses it; see `CommitReach`.
    var commitReach: UnsafeMutableRawPointer?

    /// The thread's stack of evaluations; nil until the thread evaluates a derived value. Only the
    /// owner uses it; the room above knows its type.
    var evaluation: UnsafeRawPointer?

    /// Whether the thread is in a reclamation pass, which must not wait for itself. Only the owner
    /// uses it.
    var isReclaiming = false

    /// Whether the thread is one of the `DeinitThreads`. Only the owner uses it.
    var isDeinitThread = false

    /// The observations that ended on this record's threads because their token was released within
    /// about a second after they began. Only the owner writes it.
    let droppedTokens = Atomic<UInt32>(0)

    /// Identifies the body of a `modify` or of a commit that the thread runs, or 0. In the body the
    /// thread changes no other property. Only the owner uses it; see `RunningBody`.
    var body: UInt = 0

    /// Two linked lists: the addresses of the first item that the thread takes for reuse, and of
    /// the first item that it keeps for others, or 0. Only the owner uses them; see `ObserverPool`.
    var (pooled, kept): (UInt, UInt) = (0, 0)

    /// The number of items that the thread keeps for others. Only the owner uses it.
    var keptCount: UInt = 0

    /// The next record in the list of all records. Constant once the record is in the list.
    var next: UnsafeMutablePointer<ThreadRecord>?

    /// The next record that waits for a thread. Guarded by the lock of `ThreadRecords`.
    var nextFree: UnsafeMutablePointer<ThreadRecord>?

    /// Frames for nesting beyond `inlineFrames`, or 0. The owner appends blocks, scans read them.
    let deeperFrames = Atomic<UInt>(0)

    /// The retired items that no pass has taken yet: a stack linked through the items, or 0.
    let retired = Atomic<UInt>(0)

    /// The address of the record's magazine, or 0 before it has one. The owner stores it once.
    let magazine = Atomic<UInt>(0)

    /// The address of the record's ring of references, or 0 before it has one. The owner stores it
    /// once.
    let ring = Atomic<UInt>(0)

    /// The number of items that this record's threads have retired. Only the owner writes it.
    let retiredCount = Atomic<UInt>(0)

    /// The number of items that passes have taken from this record. Written only under the pass
    /// lock of the `ReclamationThread`.
    let takenCount = Atomic<UInt>(0)

    /// The observations that began on this record's threads, minus those that ended on them. Only
    /// the owner writes it.
    let liveObservers = Atomic<Int>(0)

    /// The events that were dropped on this record's threads, for any observer. Only the owner
    /// writes it.
    let droppedCount = Atomic<UInt>(0)

    /// The events that were sent on this record's threads, minus those that were received or
    /// dropped on them. Only the owner writes it.
    let pendingCount = Atomic<Int>(0)

    /// The number of frames inside the record. Passes that nest no deeper need no allocation. (P15)
    @usableFromInline static var inlineFrames: Int { 8 }

    /// The distance in bytes from the record to its frames. They start on a cache line of their
    /// own.
    @usableFromInline static var framesOffset: Int { 192 }

    /// Whether the thread's commit is decided: see `CommitDecision`.
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
