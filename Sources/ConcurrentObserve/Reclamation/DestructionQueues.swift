// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import Synchronization

/// The items that wait for the deinit threads. Each source has a queue, and the queues are served
/// in turn.
///
/// One thread takes an item of a source; the next thread takes an item of the next source.
/// Therefore a source with many items, or with slow ones, delays only its own items. (Fair
/// queueing: Nagle, "On Packet Switches With Infinite Storage", RFC 970, 1985.) Threads and room
/// for waiting items are both shared by one rule: a source may use as much as is still free. A
/// source that is the only one therefore gets half. Even if many sources are blocked, the next
/// source finds room. (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
/// Packet Switches", 1998.)
///
/// A common limit applies to the waiting items of all sources that are not crowded, because there
/// may be very many such sources with one item each. Blocked sources are crowded, and do not use up
/// this limit.
///
/// The lock of the `DeinitThreads` guards the queues, but not `mayBeCrowded` and `isAnyCrowded`.
internal final class DestructionQueues: @unchecked Sendable {
    // Unchecked: see above; `publicMarks` is atomic.

    /// The queues of all sources that have items, or threads busy with their items.
    private var queues: [UInt: DestructionQueue] = [:]

    /// The first and the last queue that have items, linked in the order of service.
    private var (first, last) = (DestructionQueue?.none, DestructionQueue?.none)
    private var listed = 0
    /// The number of queues that have items, but no thread that works for their source.
    private(set) var unserved = 0

    /// The number of items in all queues.
    private(set) var waiting = 0
    /// The number of items in the queues of crowded sources.
    private var waitingInCrowds = 0
    /// Whether the waiting items of all sources that are not crowded together exceed `roomForAll`.
    private(set) var isFull = false
    /// The number of threads that reclaim items.
    private(set) var busy = 0

    /// Shows which sources may be crowded. Each source belongs to one of the 64 bits, and other
    /// sources may belong to it, too. A bit is set while one of its sources is crowded. While
    /// `isFull`, all bits are set. A retiring thread reads the bits before it takes a lock.
    private static let publicMarks = Atomic<UInt64>(0)
    /// The bits of the crowded sources, whether `isFull` or not.
    private var marks: UInt64 = 0
    /// The number of crowded sources for each bit.
    private var crowdedCounts = [Int](repeating: 0, count: 64)

    /// The largest number of busy threads, for all sources together.
    static var mostThreads: Int { 256 }
    /// The common limit: if all sources that are not crowded together have more waiting items,
    /// threads that retire for any source pause. The room of one source is computed from it, too:
    /// see `room(for:)`. (P16)
    private static var roomForAll: Int { 65_536 }
    /// The number of items that one source may always have waiting, however many items of other
    /// sources wait. (P16)
    private static var roomForEach: Int { 4_096 }

    // MARK: In and out

    func append(_ run: RetiredRun) {
        let queue = queue(of: run.sourceAddress)
        queue.append(run)
        waiting += run.count
        if queue.isCrowded { waitingInCrowds += run.count }
        if !queue.isListed { list(queue) }
        if !queue.isCrowded, queue.count > room(for: queue) { mark(queue, isCrowded: true) }
        if !isFull, waiting - waitingInCrowds > Self.roomForAll { setFull(true) }
    }

    /// The next queue that may have another thread; nil if there is none.
    var next: DestructionQueue? {
        var queue = first
        while let candidate = queue, !mayHaveThread(candidate) { queue = candidate.next }
        return queue
    }

    /// An item that a deinit thread has taken, and the queue from which it came.
    struct Taken {
        let work: RetiredWork
        let queue: DestructionQueue
    }

    /// Takes an item from the queue of a source, and counts the calling thread as busy with that
    /// source. If a source has items but no thread, the item comes from the first such source.
    /// Otherwise it comes from the first source that may have another thread.
    ///
    /// - Returns: Nil if no item may be taken.
    func takeNext() -> Taken? {
        let isAnyUnserved = unserved > 0
        for _ in 0..<listed {
            let queue = unlistFirst()
            guard isAnyUnserved ? queue.busy == 0 : mayHaveThread(queue) else {
                list(queue)
                continue
            }
            let work = queue.popFirst()
            waiting -= 1
            if queue.isCrowded { waitingInCrowds -= 1 }
            busy += 1
            queue.busy += 1
            if queue.count > 0 { list(queue) }
            return Taken(work: work, queue: queue)
        }
        return nil
    }

    /// Records that a thread is no longer busy with items of the queue.
    func leave(_ queue: DestructionQueue) {
        busy -= 1
        queue.busy -= 1
        guard queue.busy == 0 else { return }
        if queue.isListed { unserved += 1 } else { drop(queue) }
    }

    /// Whether one more thread may work for this source. A source may occupy at most as many
    /// threads as are still free, but always one.
    private func mayHaveThread(_ queue: DestructionQueue) -> Bool {
        return queue.busy < max(1, Self.mostThreads - busy)
    }

    private func list(_ queue: DestructionQueue) {
        queue.isListed = true
        listed += 1
        if queue.busy == 0 { unserved += 1 }
        if let last { last.next = queue } else { first = queue }
        last = queue
    }

    private func unlistFirst() -> DestructionQueue {
        let queue = first!
        first = queue.next
        if first == nil { last = nil }
        queue.next = nil
        queue.isListed = false
        listed -= 1
        if queue.busy == 0 { unserved -= 1 }
        return queue
    }

    private func queue(of source: UInt) -> DestructionQueue {
        if let last, last.sourceAddress == source { return last }
        if let queue = queues[source] { return queue }
        let queue = DestructionQueue(sourceAddress: source)
        queues[source] = queue
        return queue
    }

    /// Removes an empty queue.
    private func drop(_ queue: DestructionQueue) {
        if queue.isCrowded { mark(queue, isCrowded: false) }
        queues[queue.sourceAddress] = nil
    }

    // MARK: Room

    /// Whether any source is crowded, or the common limit is exceeded.
    static var isAnyCrowded: Bool {
        // Relaxed: a hint, or under the lock that its writers hold.
        publicMarks.load(ordering: .relaxed) != 0
    }

    /// Whether a source may be crowded. The answer is a hint, and the caller needs no lock.
    static func mayBeCrowded(_ source: UInt) -> Bool {
        // Relaxed: a hint; `isCrowded` decides.
        publicMarks.load(ordering: .relaxed) & (1 << UInt64(bit(of: source))) != 0
    }

    /// Whether threads that retire for the source must pause.
    func isCrowded(_ source: UInt) -> Bool { isFull || queues[source]?.isCrowded == true }

    /// Clears the marks if there is enough room again, after an item of the queue was taken.
    ///
    /// - Returns: Whether a mark was cleared.
    func noteRoom(_ queue: DestructionQueue) -> Bool {
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

    private func room(for queue: DestructionQueue) -> Int { max(Self.roomForEach, Self.roomForAll - waiting) }

    private func mark(_ queue: DestructionQueue, isCrowded: Bool) {
        queue.isCrowded = isCrowded
        waitingInCrowds += isCrowded ? queue.count : -queue.count
        let bit = Self.bit(of: queue.sourceAddress)
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

    /// Returns the source's bit in the marks: the upper bits of a multiplicative hash, because the
    /// lower bits of addresses are similar.
    private static func bit(of source: UInt) -> Int { Int((UInt64(source) &* 0x9E37_79B9_7F4A_7C15) >> 58) }
}

/// The waiting items of one source, first in, first out, kept in runs. Adding an item and taking
/// one out are O(1).
///
/// It is a class: for a struct, every item would cost a check for exclusive access to the whole
/// struct. The lock of the `DeinitThreads` guards all properties.
internal final class DestructionQueue {
    /// Identifies the source: see `Retirable.sourceAddress`.
    let sourceAddress: UInt

    /// The run from which the next item is taken; nil if nothing waits.
    private var run: RetiredRun?
    /// The runs that come after `run`. Those before `index` were taken out already.
    private var runs: [RetiredRun] = []
    private var index = 0
    private(set) var count = 0

    /// The number of threads that reclaim items of this source now.
    var busy = 0
    /// Whether more items wait than the source has room for. Then threads that retire for it pause.
    var isCrowded = false

    // Only `DestructionQueues` writes the following.
    var isListed = false
    /// The next queue in the order of service; nil for the last.
    var next: DestructionQueue?

    init(sourceAddress: UInt) { self.sourceAddress = sourceAddress }

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

    /// Takes the next item out. There must be one.
    func popFirst() -> RetiredWork {
        count -= 1
        let batch = run!.batch
        let item = run!.popFirst()!
        if run!.count == 0 { takeNextRun() }
        return RetiredWork(item: item, batch: batch)
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
