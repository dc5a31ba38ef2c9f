// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The items that wait for the deinit threads: a queue for each source, served in turn.
///
/// One item of a source is served, or some, where it has many, then those of the next: a source
/// with many items, or with slow ones, delays only its own. (Fair queueing: Nagle, "On Packet Switches With Infinite Storage",
/// RFC 970, 1985.) A source may occupy as many threads, and may have as many items waiting, as are
/// left for the others: one source alone gets half of either. However many sources are blocked, the
/// next one finds room. (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
/// Packet Switches", 1998.)
///
/// The waiting items of all sources that are not crowded have a limit of their own: there may be
/// very many such sources, with an item each. Blocked sources, which are crowded, do not use it up.
///
/// Guarded by the lock of the `DeinitThreads`, except `mayBeCrowded` and `isAnyCrowded`.
internal final class SourceQueues: @unchecked Sendable {
    // Unchecked: see above; `publicMarks` is atomic.

    /// A hash table of queues, each the first of its bucket: a power of two of them, at least as
    /// many as there were queues at once. It is no dictionary: where many sources have an item
    /// each, a queue is found, made and dropped for every item.
    private var buckets = [SourceQueue?](repeating: nil, count: 64)
    private var count = 0
    /// Queues that are kept for reuse, linked.
    private var pooled: SourceQueue?
    private var pooledCount = 0

    /// The queues that have items, linked, in the order of service.
    private var (first, last) = (SourceQueue?.none, SourceQueue?.none)
    private var listed = 0

    /// Items in all queues together.
    private(set) var waiting = 0
    /// Items in queues of crowded sources.
    private var waitingInCrowds = 0
    /// Whether the sources that are not crowded have more items waiting together than they may.
    private(set) var isFull = false
    /// Threads that reclaim an item.
    private(set) var busy = 0

    /// One bit for each crowded source, of 64 that all sources share, and all of them while
    /// `isFull`: a thread that retires looks here before it takes a lock.
    private static let publicMarks = Atomic<UInt64>(0)
    private var marks: UInt64 = 0
    /// How many crowded sources have each of the bits.
    private var crowdedCounts = [Int](repeating: 0, count: 64)

    // Those that follow are computed: a stored one would be made on its first use, and a fork that
    // catches a thread there would leave it half made in the child. (P18)

    /// So many threads may be busy at most, for all sources together.
    static var mostThreads: Int { 256 }
    /// So many items may wait at most, of the crowded sources together, and of the others. (P16)
    private static var roomForAll: Int { 65_536 }
    /// So many items of one source may wait, however many others do. (P16)
    private static var roomForEach: Int { 4_096 }
    /// So many queues are kept for reuse at most.
    private static var mostPooled: Int { 256 }

    // MARK: In and out

    func append(_ run: RetiredRun) {
        let queue = queue(of: run.source)
        queue.append(run)
        waiting += run.count
        if queue.isCrowded { waitingInCrowds += run.count }
        if !queue.isListed { list(queue) }
        if !queue.isCrowded, queue.count > room(for: queue) { mark(queue, isCrowded: true) }
        if !isFull, waiting - waitingInCrowds > Self.roomForAll { setFull(true) }
    }

    /// The queue that is next, if any may have another thread.
    var next: SourceQueue? {
        var queue = first
        while let candidate = queue, !mayHaveThread(candidate) { queue = candidate.next }
        return queue
    }

    /// How many items a thread may take, and from which queue.
    ///
    /// Not a tuple: see `ReclamationThread.PassResult`.
    struct Serving {
        let count: Int
        let queue: SourceQueue
    }

    /// Has a worker take items of the source that is next: several only where many wait. Its thread
    /// is busy with them from now on.
    ///
    /// - Returns: The first, which the thread has claimed, or nil if none may be taken.
    func takeNext(for worker: DeinitWorker) -> RetiredItem? {
        for _ in 0..<listed {
            let queue = unlistFirst()
            guard mayHaveThread(queue) else {
                list(queue)
                continue
            }
            let before = queue.count
            let count = max(1, min(DeinitWorker.mostItems, before / 8))
            let item = worker.take(Serving(count: count, queue: queue))
            waiting -= before - queue.count
            if queue.isCrowded { waitingInCrowds -= before - queue.count }
            busy += 1
            queue.busy += 1
            if queue.count > 0 { list(queue) }
            return item
        }
        return nil
    }

    /// Notes that a thread is no longer busy with items of the queue.
    func leave(_ queue: SourceQueue) {
        busy -= 1
        queue.busy -= 1
        if queue.busy == 0, queue.count == 0 { drop(queue) }
    }

    /// Whether the source may have another thread: at most as many as are left, and one in any
    /// case.
    private func mayHaveThread(_ queue: SourceQueue) -> Bool {
        return queue.busy < max(1, Self.mostThreads - busy)
    }

    private func list(_ queue: SourceQueue) {
        queue.isListed = true
        listed += 1
        if let last { last.next = queue } else { first = queue }
        last = queue
    }

    private func unlistFirst() -> SourceQueue {
        let queue = first!
        first = queue.next
        if first == nil { last = nil }
        queue.next = nil
        queue.isListed = false
        listed -= 1
        return queue
    }

    // MARK: The table

    private func existingQueue(of source: UInt) -> SourceQueue? {
        var queue = buckets[bucket(of: source)]
        while let candidate = queue, candidate.source != source { queue = candidate.sibling }
        return queue
    }

    private func queue(of source: UInt) -> SourceQueue {
        if let last, last.source == source { return last }
        if let queue = existingQueue(of: source) { return queue }
        if count == buckets.count { growTable() }
        let queue = pooled ?? SourceQueue(source: source)
        if pooled != nil {
            pooled = queue.next
            pooledCount -= 1
            queue.next = nil
            queue.source = source
        }
        insert(queue)
        count += 1
        return queue
    }

    private func insert(_ queue: SourceQueue) {
        let bucket = bucket(of: queue.source)
        queue.sibling = buckets[bucket]
        buckets[bucket] = queue
    }

    /// Takes an empty queue off the table, and keeps it for reuse if there is room.
    private func drop(_ queue: SourceQueue) {
        if queue.isCrowded { mark(queue, isCrowded: false) }
        let bucket = bucket(of: queue.source)
        if buckets[bucket] === queue {
            buckets[bucket] = queue.sibling
        } else {
            var previous = buckets[bucket]!
            while previous.sibling !== queue { previous = previous.sibling! }
            previous.sibling = queue.sibling
        }
        queue.sibling = nil
        count -= 1
        guard pooledCount < Self.mostPooled else { return }
        queue.next = pooled
        pooled = queue
        pooledCount += 1
    }

    private func growTable() {
        let old = buckets
        buckets = [SourceQueue?](repeating: nil, count: old.count * 2)
        for var head in old {
            while let queue = head {
                head = queue.sibling
                insert(queue)
            }
        }
    }

    private func bucket(of source: UInt) -> Int { Int(Self.hash(of: source) >> 32) & (buckets.count - 1) }

    // MARK: Room

    /// Whether any source is crowded, or all are.
    static var isAnyCrowded: Bool {
        // Relaxed: a hint, or under the lock that its writers hold.
        publicMarks.load(ordering: .relaxed) != 0
    }

    /// Whether a source may be crowded. Under no lock.
    static func mayBeCrowded(_ source: UInt) -> Bool {
        // Relaxed: a hint; `isCrowded` decides.
        publicMarks.load(ordering: .relaxed) & (1 << UInt64(bit(of: source))) != 0
    }

    /// Whether threads that retire for the source are to pause.
    func isCrowded(_ source: UInt) -> Bool { isFull || existingQueue(of: source)?.isCrowded == true }

    /// After an item of the queue was taken: clears the marks once there is room for a while.
    ///
    /// - Returns: Whether it has cleared one now.
    func noteRoom(_ queue: SourceQueue) -> Bool {
        var hasRoom = false
        if queue.isCrowded, queue.count <= room(for: queue) / 8 * 7 {
            mark(queue, isCrowded: false)
            hasRoom = true
        }
        if isFull, waiting - waitingInCrowds <= Self.roomForAll / 8 * 7 {
            setFull(false)
            hasRoom = true
        }
        return hasRoom
    }

    private func room(for queue: SourceQueue) -> Int { max(Self.roomForEach, Self.roomForAll - waiting) }

    private func mark(_ queue: SourceQueue, isCrowded: Bool) {
        queue.isCrowded = isCrowded
        waitingInCrowds += isCrowded ? queue.count : -queue.count
        let bit = Self.bit(of: queue.source)
        crowdedCounts[bit] += isCrowded ? 1 : -1
        if crowdedCounts[bit] == 0 { marks &= ~(1 << UInt64(bit)) } else { marks |= 1 << UInt64(bit) }
        publishMarks()
    }

    private func setFull(_ isFull: Bool) {
        self.isFull = isFull
        publishMarks()
    }

    private func publishMarks() {
        // Relaxed: hints; the lock orders the writers.
        Self.publicMarks.store(isFull ? .max : marks, ordering: .relaxed)
    }

    private static func bit(of source: UInt) -> Int { Int(hash(of: source) >> 58) }

    /// A multiplicative hash. Use its upper bits: the lower bits of addresses are much alike.
    private static func hash(of source: UInt) -> UInt64 { UInt64(source) &* 0x9E37_79B9_7F4A_7C15 }
}
