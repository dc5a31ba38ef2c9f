// SPDX-License-Identifier: Apache-2.0

public import CURCU
import Glibc
import Synchronization

/// What the library keeps for one thread: its frames, and what it has retired. (P17)
///
/// A thread gets its record on its first use, without asking for it, and gives it back when it exits; the next new thread
/// takes it over. Records are never freed, so that a scan may walk their list without a lock: there are as many as there
/// ever were threads at once.
@safe @usableFromInline
internal struct ThreadRecord: ~Copyable {
    /// Frames in use: the nesting of passes on this thread. Read and written by the owner alone.
    @usableFromInline var depth = 0

    /// Other user code of this library's making on this thread's stack: `onEnd`, deinitialisers, `==`, bodies of `modify`.
    /// Owner alone.
    @usableFromInline var userCode = 0

    /// The change that a binding is passing on, on this thread, if any. Owner alone; see `withPassage`.
    var passage: Unmanaged<AnyObject>?

    /// Where the thread puts off what it has to tell observers of paths. Owner alone.
    var deferral: Unmanaged<AnyObject>?

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

    /// Whether the thread is in a pass of the reclaimer, which must not wait for itself. Owner alone.
    var isReclaiming = false

    /// Whether the thread is inside a source's lock, or about to look whether it may. Written by the owner alone.
    let isInsideGate = Atomic<Bool>(false)

    #if INSTRUMENTED
    /// Locks and read sections of the library that the thread is inside of. Owner alone.
    var forbidden = 0
    #endif

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

    /// Whether the caller is below a frame of this library on this thread. ("Inside a callback", DocC article Contract.)
    static var isInsideCallback: Bool {
        // Safe: records are never freed.
        guard let record = unsafe curcu_get_thread_record()?.assumingMemoryBound(to: ThreadRecord.self) else {
            return false
        }
        return unsafe record.pointee.depth > 0 || record.pointee.userCode > 0
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

    /// Gives the calling thread a record: an abandoned one, or a new one.
    @usableFromInline @inline(never)
    static func attach() -> UnsafeMutablePointer<ThreadRecord> {
        let record = unsafe ThreadRecords.shared.acquire()
        unsafe curcu_set_thread_record(record)
        unsafe pthread_setspecific(ThreadRecords.shared.exitKey, record)
        return unsafe record
    }
}

// MARK: - Frames

extension UnsafeMutablePointer<ThreadRecord> {
    /// The frame of the pass that starts now, one level deeper than the last.
    @inlinable @inline(__always)
    func enterFrame() -> UnsafeMutablePointer<Frame> {
        // Safe: records are never freed, and `depth` is the owner's alone.
        let depth = unsafe pointee.depth
        unsafe pointee.depth = depth &+ 1
        if _fastPath(depth < ThreadRecord.inlineFrames) {
            return unsafe inlineFrames + depth
        }
        return unsafe deepFrame(depth - ThreadRecord.inlineFrames)
    }

    /// Ends the innermost frame.
    @inlinable @inline(__always)
    func leaveFrame() {
        // Safe: records are never freed, and `depth` is the owner's alone.
        unsafe pointee.depth &-= 1
    }

    @inlinable @inline(__always)
    var inlineFrames: UnsafeMutablePointer<Frame> {
        // Safe: `ThreadRecords.allocate` has laid the frames out at this distance.
        unsafe (UnsafeMutableRawPointer(self) + ThreadRecord.framesOffset).assumingMemoryBound(to: Frame.self)
    }

    /// A frame beyond the record's own; allocates room on the thread's first visit to such a depth.
    @usableFromInline @inline(never)
    func deepFrame(_ index: Int) -> UnsafeMutablePointer<Frame> {
        // Safe: blocks of frames are linked once and never freed; only the owner appends.
        var index = index
        var link = unsafe UnsafePointer(addressOf: pointee.deeperFrames)
        while true {
            // Relaxed: the owner reads what it has stored itself.
            var block = unsafe FrameBlock.at(link.pointee.load(ordering: .relaxed))
            if unsafe block == nil {
                unsafe block = FrameBlock.allocate()
                // Release: pairs with the acquire in forEachFrame(_:), which reads the block's frames.
                unsafe link.pointee.store(UInt(bitPattern: block), ordering: .releasing)
            }
            if index < FrameBlock.capacity { return unsafe block!.pointee.frames + index }
            index -= FrameBlock.capacity
            unsafe link = UnsafePointer(addressOf: block!.pointee.next)
        }
    }

    /// Forgets what the record's last thread was doing, which does not exist any more.
    fileprivate func clear() {
        unsafe forEachFrame { frame in
            unsafe frame.pointee.clear()
        }
        unsafe pointee.depth = 0
        unsafe pointee.userCode = 0
        unsafe pointee.passage = nil
        unsafe pointee.deferral = nil
    }

    /// Visits every frame of the record, in use or not. Any thread.
    func forEachFrame(_ body: (UnsafeMutablePointer<Frame>) -> Void) {
        // Safe: records and their blocks of frames are never freed.
        for index in 0..<ThreadRecord.inlineFrames {
            if index == 0, mutant("outer frames are skipped"),
                unsafe (inlineFrames + 1).pointee.pin.load(ordering: .relaxed) != 0
            {
                continue
            }
            unsafe body(inlineFrames + index)
        }
        // Acquire: pairs with the release in deepFrame(_:).
        var block = unsafe FrameBlock.at(pointee.deeperFrames.load(ordering: .acquiring))
        while let frames = unsafe block {
            for index in 0..<FrameBlock.capacity { unsafe body(frames.pointee.frames + index) }
            unsafe block = FrameBlock.at(frames.pointee.next.load(ordering: .acquiring))
        }
    }
}

/// Frames for a thread that nests deeper than its record has room for.
@safe private struct FrameBlock: ~Copyable {
    let next = Atomic<UInt>(0)
    let frames: UnsafeMutablePointer<Frame>

    static var capacity: Int { 64 }

    static func allocate() -> UnsafeMutablePointer<FrameBlock> {
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

    /// Its destructor hands the record of a thread that exits back.
    let exitKey: pthread_key_t

    private init() {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key) { record in
            // Safe: only `attach` sets the key's value, and records are never freed.
            unsafe ThreadRecords.shared.release(record!.assumingMemoryBound(to: ThreadRecord.self))
        }
        guard error == 0 else {
            fatalError(
                "ConcurrentObserve: no thread-specific key is left (error \(error)). Release some: a process has \(PTHREAD_KEYS_MAX)."
            )
        }
        exitKey = key
    }

    var count: Int { lock.withLock { total } }

    fileprivate func acquire() -> UnsafeMutablePointer<ThreadRecord> {
        Fork.prepareForFork()
        let abandoned = unsafe lock.withUntrackedLock { () -> UnsafeMutablePointer<ThreadRecord>? in
            guard let record = unsafe free else { return nil }
            unsafe free = record.pointee.nextFree
            return unsafe record
        }
        return unsafe abandoned ?? push(ThreadRecord.allocate())
    }

    private func push(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<ThreadRecord> {
        lock.withUntrackedLock {
            total += 1
            // Relaxed: the lock orders the pushes.
            unsafe record.pointee.next = UnsafeMutablePointer(bitPattern: head.load(ordering: .relaxed))
            // Release: pairs with the acquire in forEach(_:).
            head.store(UInt(bitPattern: record), ordering: .releasing)
        }
        return unsafe record
    }

    /// Takes a record back from a thread that exits, or that a fork has left behind.
    fileprivate func release(_ record: UnsafeMutablePointer<ThreadRecord>) {
        inject("record.exit")
        unsafe record.giveUpSpares()
        curcu_set_thread_record(nil)
        if mutant("exiting thread's record leaks") { return }
        lock.withUntrackedLock {
            unsafe record.pointee.nextFree = free
            unsafe free = record
        }
    }

    /// Visits every record. Any thread; call it after the barrier that makes the frames' contents visible.
    func forEach(_ body: (UnsafeMutablePointer<ThreadRecord>) -> Void) {
        // Acquire: pairs with the release in push(_:).
        var record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: head.load(ordering: .acquiring))
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
            if !mutant("a fork keeps foreign frames") { unsafe record.clear() }
            unsafe record.pointee.isReclaiming = false
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
