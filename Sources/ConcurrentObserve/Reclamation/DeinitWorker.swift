// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One deinit thread, and the items that it has taken. If many items wait, the thread takes several
/// of one source and one batch, so that it need not take a lock for each.
///
/// The thread claims the items one after another. If this takes long, the reclamation thread takes
/// back the rest, so a deinitialiser that blocks does not delay the others. The lock of the
/// `DeinitThreads` guards this state, except for the claims and the number of items begun.
@safe internal final class DeinitWorker: @unchecked Sendable {
    // Unchecked: see above.

    /// The largest number of items that a thread takes at once.
    static var mostItems: Int { 16 }

    /// The items. The thread writes them under the lock, and reads them without it.
    private let items = UnsafeMutablePointer<RetiredItem>.allocate(capacity: mostItems)
    private var count = 0
    /// How many of the items the thread keeps: all, unless the rest was withdrawn.
    private var kept = 0
    /// The batch and the queue of the items; nil if the thread has none.
    private(set) var batch: Batch?
    private(set) var queue: SourceQueue?

    /// The number of items that the thread has claimed. The highest bit is set when the rest was
    /// withdrawn.
    private let claimed = Atomic<UInt32>(0)
    private static var withdrawn: UInt32 { 1 << 31 }
    /// The number of items that the thread has begun to reclaim.
    private let begun = Atomic<UInt32>(0)

    /// Whether the thread had the same items at the last look.
    private var wasSeen = false

    /// The thread's clock, once the thread runs, and its value at the last look.
    private var clock: ProcessorClock?
    private var seen = Duration.zero

    deinit {
        // Safe: the thread has ended, and uses the items no more.
        unsafe items.deallocate()
    }
}

// MARK: - Under the lock

extension DeinitWorker {
    /// Whether the thread has taken items and has not returned for others.
    var hasItems: Bool { batch != nil }

    /// The number of its present items that the thread has begun.
    var begunCount: Int {
        // Relaxed: an estimate for the pace.
        Int(begun.load(ordering: .relaxed))
    }

    /// Whether there are items that the thread has not claimed.
    var hasMore: Bool {
        // Relaxed: a hint.
        let word = claimed.load(ordering: .relaxed)
        return word & Self.withdrawn == 0 && word < count
    }

    /// Records that the thread has reclaimed all its items.
    ///
    /// - Returns: The number of these items.
    func finish() -> Int {
        (batch, queue) = (nil, nil)
        return kept
    }

    /// Moves items from a queue to the thread, and claims the first. Only the thread itself calls
    /// it.
    ///
    /// - Parameter serving: The queue, and the largest number of items.
    func take(_ serving: SourceQueues.Serving) -> RetiredItem {
        let queue = serving.queue
        let batch = queue.nextBatch!
        count = 0
        while count < serving.count, queue.nextBatch == batch {
            // Safe: there is room for `mostItems`.
            unsafe items[count] = queue.popFirst()!
            count += 1
        }
        kept = count
        (self.batch, self.queue) = (batch, queue)
        wasSeen = false
        // Relaxed, both: the thread that reads them to withdraw items holds the lock.
        begun.store(0, ordering: .relaxed)
        claimed.store(1, ordering: .relaxed)
        return unsafe items[0]
    }

    /// Takes back the items that the thread has not claimed, if it had the same items at an earlier
    /// look.
    ///
    /// - Returns: The items that were taken back. They wait again.
    func withdraw() -> RetiredRun? {
        guard let batch, let queue, hasMore else { return nil }
        guard wasSeen else {
            wasSeen = true
            return nil
        }
        // Relaxed: the items were written under the lock. All claims change the same word.
        let first = Int(claimed.bitwiseOr(Self.withdrawn, ordering: .relaxed).oldValue)
        guard first < count else { return nil }
        kept = first
        return run(from: first, batch, queue)
    }

    private func run(from first: Int, _ batch: Batch, _ queue: SourceQueue) -> RetiredRun {
        var run = RetiredRun(batch: batch, source: queue.source)
        // Safe: there are `count` items.
        for index in first..<count { unsafe run.append(items[index]) }
        return run
    }
}

// MARK: - The thread itself, under no lock

extension DeinitWorker {
    /// Claims the thread's next item. Returns nil if there is none.
    func claimNext() -> RetiredItem? {
        // Relaxed: the thread has written the items itself. Withdrawing changes the same word.
        let word = claimed.add(1, ordering: .relaxed).oldValue
        guard word & Self.withdrawn == 0, word < count else { return nil }
        // Safe: there are `count` items.
        return unsafe items[Int(word)]
    }

    /// Reclaims and releases the item that the thread has claimed last.
    func reclaim(_ item: RetiredItem) {
        // Relaxed, both: see `begunCount`.
        begun.store(begun.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        ThreadRecord.withUserCode { item.reclaim() }
        item.release()
    }
}

// MARK: - The thread's time

extension DeinitWorker {
    /// Begins to measure the calling thread, which is this worker's. The caller must hold the lock.
    func begin() {
        clock = .ofThisThread
        seen = .zero
    }

    /// Returns the processor time that the thread has used since the last call.
    func newProcessorTime() -> Duration {
        guard let time = clock?.time else { return .zero }
        defer { seen = time }
        return time - seen
    }
}
