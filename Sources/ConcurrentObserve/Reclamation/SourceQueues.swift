// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The items that wait for the deinit threads. Each source has a queue, and the queues are served
/// in turn.
///
/// One thread takes an item of a source, or several if the source has many; the next thread takes
/// items of the next source. So a source with many items, or with slow ones, delays only its own
/// items. (Fair queueing: Nagle, "On Packet Switches With Infinite Storage", RFC 970, 1985.) A
/// source may occupy as many threads, and may have as many waiting items, as it leaves for the
/// others: if it is the only one, it gets half of either. However many sources are blocked, the
/// next one finds room. (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
/// Packet Switches", 1998.)
///
/// The waiting items of all sources that are not crowded have a separate limit, because there may
/// be very many such sources with one item each. Blocked sources are crowded, and do not use up
/// this limit.
///
/// The lock of the `DeinitThreads` guards the queues, but not `mayBeCrowded` and `isAnyCrowded`.
internal final class SourceQueues: @unchecked Sendable {
    // Unchecked: see above; `publicMarks` is atomic.

    /// A hash table. Each element is the first queue of its bucket. The number of buckets is a
    /// power of two, and at least the highest number of queues so far. It is not a dictionary: if
    /// many sources have one item each, a queue is found, made and dropped for every item.
    private var buckets = [SourceQueue?](repeating: nil, count: 64)
    private var count = 0
    /// Queues that are kept for reuse, linked.
    private var pooled: SourceQueue?
    private var pooledCount = 0

    /// The first and the last queue that have items, linked in the order of service.
    private var (first, last) = (SourceQueue?.none, SourceQueue?.none)
    private var listed = 0

    /// The number of items in all queues.
    private(set) var waiting = 0
    /// The number of items in the queues of crowded sources.
    private var waitingInCrowds = 0
    /// Whether the waiting items of all sources that are not crowded together exceed `roomForAll`.
    private(set) var isFull = false
    /// The number of threads that reclaim items.
    private(set) var busy = 0

    /// One bit for each crowded source, out of 64 bits that all sources share. While `isFull`, all
    /// bits are set. A retiring thread reads it before it takes a lock.
    private static let publicMarks = Atomic<UInt64>(0)
    private var marks: UInt64 = 0
    /// The number of crowded sources for each bit.
    private var crowdedCounts = [Int](repeating: 0, count: 64)

    /// The largest number of busy threads, for all sources together.
    static var mostThreads: Int { 256 }
    /// The largest number of waiting items of all crowded sources, and of all others. (P16)
    private static var roomForAll: Int { 65_536 }
    /// The number of items that may wait for one source, however many wait for the others. (P16)
    private static var roomForEach: Int { 4_096 }
    /// The largest number of queues that are kept for reuse.
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

    /// The next queue that may have another thread, if there is one.
    var next: SourceQueue? {
        var queue = first
        while let candidate = queue, !mayHaveThread(candidate) { queue = candidate.next }
        return queue
    }

    /// The queue from which a thread may take items, and how many.
    ///
    /// Not a tuple: see `ReclamationThread.PassResult`.
    struct Serving {
        let count: Int
        let queue: SourceQueue
    }

    /// Moves items of the next source to a worker: several only if many wait. From now on the
    /// worker's thread is busy with them.
    ///
    /// - Returns: The first item, which the thread has claimed; nil if none may be taken.
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

    /// Records that a thread is no longer busy with items of the queue.
    func leave(_ queue: SourceQueue) {
        busy -= 1
        queue.busy -= 1
        if queue.busy == 0, queue.count == 0 { drop(queue) }
    }

    /// Whether one more thread may work for this source. It may occupy at most as many threads as are
    /// still free, but always one.
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

    /// Removes an empty queue from the table, and keeps it for reuse if there is room.
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

    /// Whether any source is crowded, or the common limit is exceeded.
    static var isAnyCrowded: Bool {
        // Relaxed: a hint, or under the lock that its writers hold.
        publicMarks.load(ordering: .relaxed) != 0
    }

    /// Whether a source may be crowded. A hint; needs no lock.
    static func mayBeCrowded(_ source: UInt) -> Bool {
        // Relaxed: a hint; `isCrowded` decides.
        publicMarks.load(ordering: .relaxed) & (1 << UInt64(bit(of: source))) != 0
    }

    /// Whether threads that retire for the source must pause.
    func isCrowded(_ source: UInt) -> Bool { isFull || existingQueue(of: source)?.isCrowded == true }

    /// Clears the marks if there is enough room again, after an item of the queue was taken.
    ///
    /// - Returns: Whether it has cleared a mark.
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

    /// A multiplicative hash. Use its upper bits: the lower bits of addresses are similar.
    private static func hash(of source: UInt) -> UInt64 { UInt64(source) &* 0x9E37_79B9_7F4A_7C15 }
}

/// The waiting items of one source, first in, first out, kept in runs. O(1) at both ends.
///
/// It is a class: for a struct, every item would cost a check for exclusive access to the whole
/// struct. The lock of the `DeinitThreads` guards all properties.
internal final class SourceQueue {
    /// Identifies the source: see `Retirable.source`. Constant while the queue is in use.
    var source: UInt

    /// The run from which the next item is taken, if anything waits.
    private var run: RetiredRun?
    /// The runs after it, from `index` on.
    private var runs: [RetiredRun] = []
    private var index = 0
    private(set) var count = 0

    /// The number of threads that reclaim items of this source now.
    var busy = 0
    /// Whether more items wait than the source has room for. Then threads that retire for it pause.
    var isCrowded = false

    // Only `SourceQueues` writes the following.
    var isListed = false
    /// The next queue in the order of service, or in the pool.
    var next: SourceQueue?
    /// The next queue in the same bucket.
    var sibling: SourceQueue?

    init(source: UInt) { self.source = source }

    func append(_ run: RetiredRun) {
        count += run.count
        if self.run == nil {
            self.run = run
        } else if runs.last?.batch == run.batch {
            runs[runs.count - 1].append(run)
        } else if index == runs.count, self.run!.batch == run.batch {
            self.run!.append(run)
        } else {
            runs.append(run)
        }
    }

    /// The batch of the next item, if anything waits.
    var nextBatch: Batch? { run?.batch }

    func popFirst() -> RetiredItem? {
        guard run != nil else { return nil }
        count -= 1
        let item = run!.popFirst()!
        if run!.count == 0 { takeNextRun() }
        return item
    }

    private func takeNextRun() {
        guard index < runs.count else {
            run = nil
            return
        }
        run = runs[index]
        index += 1
        if index * 2 > runs.count {
            runs.removeFirst(index)
            index = 0
        }
    }
}
