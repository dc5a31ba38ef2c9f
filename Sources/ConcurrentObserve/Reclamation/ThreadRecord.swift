// SPDX-License-Identifier: Apache-2.0

public import CURCU
import Glibc
public import Synchronization

/// What the library keeps for one thread: its frames, and what it has retired. (P17)
///
/// A thread gets its record on its first use, without asking for it, and gives it back when it exits; the next new thread
/// takes it over. Records are never freed, so that a scan may walk their list without a lock: there are as many as there
/// ever were threads at once.
@safe @usableFromInline
internal struct ThreadRecord: ~Copyable {
    /// Other user code of this library's making on this thread's stack: `onEnd`, deinitialisers, `==`, bodies of `modify`.
    /// Owner alone. It comes first: ThreadSanitizer takes a change of any of the owner's fields for one of the record's first word.
    @usableFromInline var userCode = 0

    /// Frames in use: the nesting of passes on this thread. Written by the owner alone; scans look
    /// at so many frames.
    @usableFromInline let depth = Atomic<Int>(0)

    /// The change that a binding is passing on, on this thread, if any. Owner alone; see `withPassage`.
    var passage: Unmanaged<AnyObject>?

    /// Where the thread puts off what it has to tell observers of paths. Owner alone.
    var deferral: Unmanaged<AnyObject>?

    /// Whether the thread is in a pass of the reclaimer, which must not wait for itself. Owner alone.
    var isReclaiming = false

    /// Whether the thread was in user code when the process forked, and does not exist in this child: no other thread takes the
    /// record over, so that what the thread has left behind is not taken for another's. Written in the child, before it has other threads.
    var isForsaken = false

    /// Whether the thread is inside a source's lock, or about to look whether it may. Written by the owner alone.
    let isInsideGate = Atomic<Bool>(false)

    /// Whether the thread is one of the `Destroyers`. Owner alone.
    var isDestroying = false

    #if INSTRUMENTED
    /// Locks and read sections of the library that the thread is inside of. Owner alone. In the gap behind the flags: the record has
    /// no room for a word more.
    var forbidden: Int32 = 0
    #endif

    /// liburcu's reader of the record's threads, if liburcu does not see to it itself. Owner alone; see `ReadSection.attach(_:)`.
    var reader: UnsafeMutableRawPointer?

    /// The address of the first of the items that the thread keeps to use them again, linked, or 0. Owner alone; see `Spares`.
    var spares: UInt = 0

    /// The next record of the list of all. Constant once the record is on the list.
    fileprivate var next: UnsafeMutablePointer<ThreadRecord>?

    /// The next record that waits for a thread. Guarded by the list's lock.
    fileprivate var nextFree: UnsafeMutablePointer<ThreadRecord>?

    /// Frames for nesting beyond `inlineFrames`, or 0. Appended by the owner, read by scans.
    fileprivate let deeperFrames = Atomic<UInt>(0)

    /// The retired items that nobody has taken yet: a stack linked through the items, or 0.
    let retired = Atomic<UInt>(0)

    /// Items this record's threads have retired. Written by the owner alone.
    let retiredCount = Atomic<UInt>(0)

    /// Items that the reclaimer has taken from this record. Written by the reclaimer alone.
    let takenCount = Atomic<UInt>(0)

    /// Observations that began on this record's threads, less those that ended on them. Written by the owner alone.
    let liveObservers = Atomic<Int>(0)

    /// Events that were dropped on this record's threads, whatever observer they were for. Written by the owner alone.
    let droppedCount = Atomic<UInt>(0)

    /// Events that were sent on this record's threads, less those that were received or dropped on them.
    /// Written by the owner alone.
    let pendingCount = Atomic<Int>(0)

    /// Passes that nest this deep use a frame inside the record: no allocation. (P15)
    @usableFromInline static var inlineFrames: Int { 8 }

    /// The frames follow the record at this distance, in bytes: they start on a cache line of their own.
    @usableFromInline static var framesOffset: Int { 128 }

    private init() {}
}

// MARK: - The calling thread's

extension ThreadRecord {
    /// The calling thread's record. Allocates or takes over one on the thread's first use.
    @inlinable @inline(__always)
    static var current: UnsafeMutablePointer<ThreadRecord> {
        if let record = unsafe curcu_get_thread_record() {
            // Safe: only `attach` stores into the variable, and records are never freed.
            return unsafe record.assumingMemoryBound(to: ThreadRecord.self)
        }
        return unsafe attach()
    }

    /// The calling thread's record, if it has one.
    private static var own: UnsafeMutablePointer<ThreadRecord>? {
        // Safe: only `attach` stores into the variable, and records are never freed.
        unsafe curcu_get_thread_record()?.assumingMemoryBound(to: ThreadRecord.self)
    }

    /// The address of the calling thread's record, or 0: gives the thread none.
    static var ownAddress: UInt {
        // Safe: an address only.
        unsafe UInt(bitPattern: own)
    }

    /// Whether the caller is below a frame of this library on this thread. ("Inside a callback", DocC article Contract.)
    static var isInsideCallback: Bool {
        // Safe: records are never freed.
        guard let record = unsafe own else { return false }
        return unsafe record.isInsideCallback
    }

    /// Runs user code that the library owes somebody, marked as inside a callback.
    @inlinable
    static func withUserCode<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // Safe: records are never freed.
        let record = unsafe current
        unsafe record.pointee.userCode += 1
        defer { unsafe record.pointee.userCode -= 1 }
        return try body()
    }

    /// Gives the calling thread a record, an abandoned one or a new one, and a reader with it.
    @usableFromInline @inline(never) @discardableResult
    static func attach() -> UnsafeMutablePointer<ThreadRecord> {
        Fork.prepare()
        let record = unsafe own ?? ThreadRecords.shared.acquire()
        unsafe ReadSection.attach(record)
        unsafe curcu_set_thread_record(record)
        unsafe curcu_note_thread_exit(record)
        return unsafe record
    }
}

// MARK: - Frames

extension UnsafeMutablePointer<ThreadRecord> {
    /// The frame of the pass that starts now, one level deeper than the last.
    @inlinable @inline(__always)
    func enterFrame() -> UnsafeMutablePointer<Frame> {
        // Safe: records are never freed. Relaxed: the owner alone writes it. The store comes before
        // what the frame will hold: before `current` by that one's release, and as `pin` before the
        // end of a read section. So a scan whose barrier makes those visible looks at the frame.
        // Release: as in leaveFrame(); a scan may read this store in place of that one.
        let depth = unsafe pointee.depth.load(ordering: .relaxed)
        unsafe pointee.depth.store(depth &+ 1, ordering: .releasing)
        if _fastPath(depth < ThreadRecord.inlineFrames) {
            return unsafe inlineFrames + depth
        }
        return unsafe deepFrame(depth - ThreadRecord.inlineFrames)
    }

    /// Ends the innermost frame.
    @inlinable @inline(__always)
    func leaveFrame() {
        // Safe: records are never freed. Relaxed: the owner alone writes it. Release: pairs with
        // the acquire in forEachFrame(_:); a scan that does not look at the frame any more comes
        // after what its callbacks did.
        unsafe pointee.depth.store(pointee.depth.load(ordering: .relaxed) &- 1, ordering: .releasing)
    }

    @inlinable @inline(__always)
    var inlineFrames: UnsafeMutablePointer<Frame> {
        // Safe: `ThreadRecords.allocate` has laid the frames out at this distance.
        unsafe (UnsafeMutableRawPointer(self) + ThreadRecord.framesOffset).assumingMemoryBound(to: Frame.self)
    }

    /// A frame beyond the record's own; allocates room on the thread's first visit to such a depth.
    ///
    /// Traps while there is still stack to say so: a callback that calls itself without end gets
    /// here. (P6)
    @usableFromInline @inline(never)
    func deepFrame(_ index: Int) -> UnsafeMutablePointer<Frame> {
        if curcu_stack_is_nearly_used_up() {
            trapEndlessRecursion(depth: index + ThreadRecord.inlineFrames + 1)
        }
        // Safe: blocks of frames are linked once and never freed; only the owner appends.
        var index = index
        var capacity = FrameBlock.leastCapacity
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while true {
            // Relaxed: the owner reads what it has stored itself.
            var block = unsafe FrameBlock.at(link.pointee.load(ordering: .relaxed))
            if unsafe block == nil {
                unsafe block = FrameBlock.allocate(capacity)
                // Release: pairs with the acquire in forEachFrame(_:), which reads the block's frames.
                unsafe link.pointee.store(UInt(bitPattern: block), ordering: .releasing)
            }
            if index < capacity { return unsafe block!.pointee.frames + index }
            index -= capacity
            // Twice as many each time: however deep a thread nests, the way to its frame is short.
            capacity *= 2
            unsafe link = UnsafePointer(addressOf: block!.pointee.next)
        }
    }

    /// Whether the thread is below a frame of this library. The owner alone.
    fileprivate var isInsideCallback: Bool {
        // Safe: records are never freed. Relaxed: the owner's own.
        unsafe pointee.depth.load(ordering: .relaxed) > 0 || pointee.userCode > 0
    }

    /// Forgets what the record's last thread was doing, which does not exist any more.
    fileprivate func clear() {
        // All of them: a fork need not have caught the depth and the frames at one moment.
        unsafe forEachFrame(below: .max) { frame in
            unsafe frame.pointee.clear()
        }
        unsafe pointee.depth.store(0, ordering: .relaxed)  // Relaxed: the child has one thread.
        unsafe pointee.userCode = 0
        unsafe pointee.passage = nil
        unsafe pointee.deferral = nil
    }

    /// Visits every frame of the record that is in use. Any thread; call it after the barrier that
    /// makes the frames' contents visible.
    ///
    /// - Complexity: O(the passes that are nested on the thread now), however many there have been.
    func forEachFrame(_ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Acquire: pairs with the release in leaveFrame(). A frame that was in use at the barrier
        // and is not among these has been left since: what was done in it happens before the
        // reclaiming.
        let depth = unsafe pointee.depth.load(ordering: .acquiring)
        unsafe forEachFrame(
            below: mutant(.framesThatWereLeftAreScanned)
                ? .max : mutant(.theInnermostFrameIsNotScanned) ? max(1, depth) - 1 : depth,
            body
        )
    }

    /// Visits the frames of the levels below `depth`, as far as there are any.
    private func forEachFrame(below depth: Int, _ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Safe: records and their blocks of frames are never freed.
        for index in 0..<min(depth, ThreadRecord.inlineFrames) {
            if index == 0, mutant(.outerFramesAreSkipped),
                unsafe (inlineFrames + 1).pointee.pin.load(ordering: .relaxed) != 0
            {
                continue
            }
            unsafe body(inlineFrames + index)
        }
        var rest = depth - ThreadRecord.inlineFrames
        var capacity = FrameBlock.leastCapacity
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while rest > 0 {
            // Acquire: pairs with the release in deepFrame(_:).
            guard let block = unsafe FrameBlock.at(link.pointee.load(ordering: .acquiring)) else { return }
            for index in 0..<min(rest, capacity) { unsafe body(block.pointee.frames + index) }
            rest -= capacity
            capacity *= 2
            unsafe link = UnsafePointer(addressOf: block.pointee.next)
        }
    }
}

/// Frames for a thread that nests deeper than its record has room for.
@safe private struct FrameBlock: ~Copyable {
    let next = Atomic<UInt>(0)
    let frames: UnsafeMutablePointer<Frame>

    /// Of the first block; each further one has twice as many.
    static var leastCapacity: Int { 64 }

    static func allocate(_ capacity: Int) -> UnsafeMutablePointer<FrameBlock> {
        let frames = UnsafeMutablePointer<Frame>.allocate(capacity: capacity)
        for index in 0..<capacity { unsafe (frames + index).initialize(to: Frame()) }
        let block = UnsafeMutablePointer<FrameBlock>.allocate(capacity: 1)
        unsafe block.initialize(to: FrameBlock(frames: frames))
        return unsafe block
    }

    static func at(_ address: UInt) -> UnsafeMutablePointer<FrameBlock>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }
}

extension UnsafePointer where Pointee: ~Copyable {
    /// The address of a property that is stored in memory which does not move.
    fileprivate init(addressOf property: borrowing Pointee) {
        // Safe: the caller's property lies in memory that is never moved or freed; atomics are never copied to be lent.
        unsafe self = withUnsafePointer(to: property) { unsafe $0 }
    }
}

// MARK: - Misuse

/// Ends the process while there is stack enough to say why.
private func trapEndlessRecursion(depth: Int) -> Never {
    fatalError(
        """
        ConcurrentObserve: \(depth) callbacks are nested on a thread whose stack is nearly used up. A callback that sets the property \
        it observes, or notifies its own registry, calls itself: let it stop, by comparing before it sets, or have it delivered \
        later, by `.serial`, on a queue or on an actor. If the recursion has an end, run it on a thread with a larger stack.
        """
    )
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Traps if the thread that gives its record back was inside a callback: the next thread would
    /// take over its frames.
    fileprivate func trapIfInsideCallback() {
        guard unsafe isInsideCallback, !mutant(.aThreadThatExitsInsideACallbackIsNotNoticed) else { return }
        fatalError(
            """
            ConcurrentObserve: a thread has ended inside a callback: by pthread_exit or pthread_cancel in it, or after a longjmp out \
            of it. What the library was doing around the callback is never finished. Return from the callback, then end the thread.
            """
        )
    }
}

// MARK: - The list of all

/// Every thread record of the process.
@safe internal final class ThreadRecords: @unchecked Sendable {
    // Unchecked: `free` and `count` are guarded by `lock`; the rest is constant or atomic.
    static let shared = ThreadRecords()

    /// The records, newest first; only ever pushed to.
    private let head = Atomic<UInt>(0)
    private let lock = ForkAwareLock()
    private var free: UnsafeMutablePointer<ThreadRecord>?
    private var total = 0

    private init() {}

    var count: Int { lock.withLock { total } }

    fileprivate func acquire() -> UnsafeMutablePointer<ThreadRecord> {
        let abandoned = unsafe lock.withUntrackedLock { () -> UnsafeMutablePointer<ThreadRecord>? in
            guard let record = unsafe free else { return nil }
            unsafe free = record.pointee.nextFree
            return unsafe record
        }
        return unsafe abandoned ?? push(ThreadRecord.allocate())
    }

    /// Makes a record, which is the calling thread's while `body` runs, and belongs to no thread
    /// afterwards: the child of a fork frees such a record.
    func lend(_ body: () -> Void) {
        let record = unsafe push(ThreadRecord.allocate())
        unsafe curcu_set_thread_record(record)
        body()
        curcu_set_thread_record(nil)
        // Relaxed, both: no other thread uses the library.
        unsafe record.pointee.retiredCount.store(0, ordering: .relaxed)
        unsafe record.pointee.takenCount.store(0, ordering: .relaxed)
    }

    private func push(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<ThreadRecord> {
        lock.withUntrackedLock {
            total += 1
            // Relaxed: the lock orders the pushes.
            unsafe record.pointee.next = UnsafeMutablePointer(bitPattern: head.load(ordering: .relaxed))
            // Release: pairs with the acquire in forEach(_:). Sequentially consistent: before the
            // record's first retirement looks at `isParked`; pairs with the load in forEach(_:), by
            // which the reclaimer looks before it parks.
            head.store(UInt(bitPattern: record), ordering: .sequentiallyConsistent)
        }
        return unsafe record
    }

    /// Takes a record back from a thread that exits, or that a fork has left behind.
    func release(_ record: UnsafeMutablePointer<ThreadRecord>) {
        inject("record.exit")
        unsafe record.trapIfInsideCallback()
        unsafe record.giveUpSpares()
        unsafe ReadSection.detach(record)
        curcu_set_thread_record(nil)
        if mutant(.exitingThreadsRecordLeaks) { return }
        lock.withUntrackedLock {
            unsafe record.pointee.nextFree = free
            unsafe free = record
        }
    }

    /// Visits every record. Any thread; call it after the barrier that makes the frames' contents visible.
    func forEach(_ body: (UnsafeMutablePointer<ThreadRecord>) -> Void) {
        // Acquire: pairs with the release in push(_:). Sequentially consistent: the reclaimer looks
        // here after its store of `isParked`, which an acquiring load could overtake; pairs with
        // the store in push(_:).
        let first = head.load(ordering: .sequentiallyConsistent)
        var record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: first)
        while let visited = unsafe record {
            unsafe body(visited)
            // Safe: records are never freed.
            unsafe record = visited.pointee.next
        }
    }

    /// Items that all threads together have retired since the process began.
    var retiredCount: UInt {
        var count: UInt = 0
        // Relaxed: a statistic.
        unsafe forEach { unsafe count &+= $0.pointee.retiredCount.load(ordering: .relaxed) }
        return count
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: forgets what the threads that do not exist here were doing, and frees their records for others. (P18)
    func adoptInChild() {
        lock.unlockAfterFork()
        let own = unsafe curcu_get_thread_record()
        unsafe free = nil
        unsafe forEach { record in
            guard unsafe UnsafeMutableRawPointer(record) != own else { return }
            let isForsaken = unsafe record.pointee.isForsaken || record.pointee.userCode > 0
            if !mutant(.aForkKeepsForeignFrames) { unsafe record.clear() }
            unsafe record.pointee.isReclaiming = false
            unsafe record.pointee.isDestroying = false
            // Relaxed: the child has one thread. The thread may have been at the gate, which was closed.
            unsafe record.pointee.isInsideGate.store(false, ordering: .relaxed)
            // liburcu has given up the readers of all other threads.
            unsafe record.pointee.reader = nil
            if !mutant(.aForkTrustsForeignCounts) { unsafe record.countRetired() }
            if isForsaken, !mutant(.aForkReusesEveryRecord) {
                unsafe record.pointee.isForsaken = true
                return
            }
            unsafe record.pointee.nextFree = free
            unsafe free = record
        }
    }
}

extension ThreadRecord {
    fileprivate static func allocate() -> UnsafeMutablePointer<ThreadRecord> {
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
