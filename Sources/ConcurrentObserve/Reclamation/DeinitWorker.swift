// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One deinit thread, and the items that it has taken: several of one source and one batch, where
/// many wait, so that it need not take a lock for each.
///
/// The thread claims one after the other. If that takes long, the reclamation thread withdraws the
/// rest: a deinitialiser that blocks keeps no other from being called. Guarded by the lock of the
/// `DeinitThreads`, except for what the thread claims and begins.
@safe internal final class DeinitWorker: @unchecked Sendable {
    // Unchecked: see above.

    /// So many items a thread takes at most.
    static var mostItems: Int { 16 }

    /// The items. Written by the thread itself, under the lock; read by the thread without.
    private let items = UnsafeMutablePointer<RetiredItem>.allocate(capacity: mostItems)
    private var count = 0
    /// How many of them are the thread's: all, unless the rest was withdrawn.
    private var kept = 0
    /// The batch of the items, if there are any, and the queue that they come from.
    private(set) var batch: Batch?
    private(set) var queue: SourceQueue?

    /// How many items the thread has claimed, and whether the rest was withdrawn.
    private let claimed = Atomic<UInt32>(0)
    private static var withdrawn: UInt32 { 1 << 31 }
    /// How many items the thread has begun to reclaim.
    private let begun = Atomic<UInt32>(0)

    /// Whether the thread had the same items at the last look.
    private var wasSeen = false

    /// The address of the thread's record, once the thread runs.
    private var record: UInt = 0
    /// The thread's clock, once the thread runs, and what it showed at the last look.
    private var clock: ProcessorClock?
    private var seen = Duration.zero

    deinit {
        // Safe: the thread has ended, and nothing of the worker's is left here.
        unsafe items.deallocate()
    }
}

// MARK: - Under the lock

extension DeinitWorker {
    /// Whether the thread has taken items, and not returned for others.
    var hasItems: Bool { batch != nil }

    /// How many items of the present ones the thread has begun.
    var begunCount: Int {
        // Relaxed: for the pace, or written in the past by the thread that looks.
        Int(begun.load(ordering: .relaxed))
    }

    /// Whether items wait here that the thread has not claimed.
    var hasMore: Bool {
        // Relaxed: a hint.
        let word = claimed.load(ordering: .relaxed)
        return word & Self.withdrawn == 0 && word < count
    }

    /// Notes that the thread has reclaimed what it had.
    ///
    /// - Returns: How many items that were.
    func finish() -> Int {
        (batch, queue) = (nil, nil)
        return kept
    }

    /// Gives the thread items, and claims the first. The thread itself.
    ///
    /// - Parameter serving: What it takes.
    func take(_ serving: SourceQueues.Serving) -> RetiredItem {
        let queue = serving.queue
        let batch = queue.nextBatch!
        count = 0
        while count < serving.count, queue.nextBatch == batch {
            // Safe: there is room for so many.
            unsafe items[count] = queue.popFirst()!
            count += 1
        }
        kept = count
        (self.batch, self.queue) = (batch, queue)
        wasSeen = false
        // Relaxed, both: a fork looks, and has taken the lock under which this runs.
        begun.store(0, ordering: .relaxed)
        claimed.store(1, ordering: .relaxed)
        return unsafe items[0]
    }

    /// Takes back what the thread has not claimed, if it has had these items since an earlier look.
    ///
    /// - Returns: What was taken back. It waits once more.
    func withdraw() -> RetiredRun? {
        guard let batch, let queue, hasMore else { return nil }
        guard wasSeen else {
            wasSeen = true
            return nil
        }
        // Relaxed: the items were written under the lock; the claims are of one word.
        let first = Int(claimed.bitwiseOr(Self.withdrawn, ordering: .relaxed).oldValue)
        guard first < count else { return nil }
        kept = first
        return run(from: first, batch, queue)
    }

    private func run(from first: Int, _ batch: Batch, _ queue: SourceQueue) -> RetiredRun {
        var run = RetiredRun(batch: batch, source: queue.source)
        // Safe: so many are there.
        for index in first..<count { unsafe run.append(items[index]) }
        return run
    }
}

// MARK: - The thread itself, under no lock

extension DeinitWorker {
    /// Claims the next of the thread's items, and releases the one before, which is reclaimed; nil
    /// if there is none.
    func claimNext() -> RetiredItem? {
        // Relaxed: the thread has written the items itself; withdrawing changes the same word.
        let word = claimed.add(1, ordering: .relaxed).oldValue
        guard word & Self.withdrawn == 0, word < count else { return nil }
        // After the claim: an item that the child of a fork abandons is still there. If the fork
        // comes just here, the child never frees it.
        // Safe, both: so many are there.
        unsafe items[Int(word) - 1].release()
        return unsafe items[Int(word)]
    }

    /// The item that the thread has reclaimed last, which it has not released.
    var last: RetiredItem? {
        // Safe: so many are there.
        hasItems ? unsafe items[kept - 1] : nil
    }

    /// Reclaims the item that the thread has claimed last.
    func reclaim(_ item: RetiredItem) {
        // Relaxed, all: a fork looks. Of another thread the child has every store up to some
        // instruction, and none after it, so that this store is there before any of the item's.
        begun.store(begun.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        ThreadRecord.withUserCode { item.reclaim() }
    }
}

// MARK: - Whose it is

extension DeinitWorker {
    /// Notes that the calling thread is the worker's, in this process.
    ///
    /// - Parameter record: The address of the thread's record.
    func begin(_ record: UInt) {
        self.record = record
        clock = .ofThisThread
        seen = .zero
    }

    /// Whether the thread with this record is the worker's. In the child of a fork.
    ///
    /// - Parameter record: The address of the record, or 0.
    func isThread(_ record: UInt) -> Bool {
        return record != 0 && record == self.record
    }

    /// The processor time that the thread has used since the last call.
    func newProcessorTime() -> Duration {
        guard let time = clock?.time else { return .zero }
        defer { seen = time }
        return time - seen
    }
}

// MARK: - Fork

extension DeinitWorker {
    /// In the child of a fork, which does not have the thread: what becomes of its items.
    ///
    /// - Returns: Nil if it had none.
    func leaveToChild() -> Left? {
        guard let batch, let queue else { return nil }
        // Relaxed, both: the child has one thread.
        let claims = min(Int(claimed.load(ordering: .relaxed) & ~Self.withdrawn), kept)
        let done = hasBegunLast(claims) ? claims : claims - 1
        // Safe: so many are there.
        if done == claims { unsafe items[claims - 1].abandonInChild() }
        count = kept
        let rest = run(from: done, batch, queue)
        (self.batch, self.queue) = (nil, nil)
        return Left(rest: rest, queue: queue, done: done)
    }

    /// What a thread has left that does not exist.
    ///
    /// Not a tuple: see `ReclamationThread.PassResult`.
    struct Left {
        /// The items that it has not begun.
        let rest: RetiredRun
        let queue: SourceQueue
        /// How many others there were: reclaimed, or abandoned half-way.
        let done: Int
    }

    /// Whether the item that was claimed last is half reclaimed, or reclaimed.
    private func hasBegunLast(_ claims: Int) -> Bool {
        return begunCount == claims
    }
}
