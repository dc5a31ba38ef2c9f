// SPDX-License-Identifier: Apache-2.0

/// What one reclamation pass has taken: a number, since every item carries it from thread to
/// thread.
internal struct Batch: Equatable {
    fileprivate let number: UInt64
}

/// A retired item, and the batch that is not complete before it is reclaimed.
///
/// Not a tuple: see `ReclamationThread.PassResult`.
internal struct RetiredWork {
    let item: RetiredItem
    let batch: Batch
}

/// Knows when everything that was retired before some moment is reclaimed.
internal final class Batches: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    private let lock = ForkAwareLock()
    private var begun: UInt64 = 0
    /// The batches that are not complete, the oldest first: one for each pass that took items which
    /// are still held, or wait for the deinit threads.
    private var open: [Open] = []
    private var reclaimed: UInt = 0

    /// Signalled when a batch is complete.
    let completion = EventCount()

    /// The number of the first batch that will hold everything that is retired now.
    var nextToBegin: UInt64 { lock.withLock { begun + 1 } }

    /// Items reclaimed since the process began.
    var reclaimedCount: UInt { lock.withLock { reclaimed } }

    func begin() -> Batch {
        lock.withLock {
            begun += 1
            open.append(Open(number: begun, outstanding: nil))
            return Batch(number: begun)
        }
    }

    /// Notes that a pass has taken all it takes: `count` items to reclaim, and `finished` that are
    /// reclaimed already.
    func taken(_ batch: Batch, count: Int, finished: Int) {
        let isComplete = lock.withLock {
            reclaimed += UInt(finished)
            let index = index(of: batch)
            open[index].outstanding = count
            return closeIfComplete(index)
        }
        if isComplete { completion.signal() }
    }

    /// Notes that `count` items of the batch are reclaimed.
    func finished(_ batch: Batch, count: Int = 1) {
        let isComplete = lock.withLock {
            reclaimed += UInt(count)
            let index = index(of: batch)
            open[index].outstanding! -= count
            return closeIfComplete(index)
        }
        if isComplete { completion.signal() }
    }

    /// Whether everything that was retired before `nextToBegin` returned this number is taken, or
    /// about to be.
    func hasBegun(_ number: UInt64) -> Bool { lock.withLock { begun >= number } }

    func isComplete(through number: UInt64) -> Bool {
        lock.withLock { begun >= number && (open.first.map { $0.number > number } ?? true) }
    }

    /// A batch that a pass is still taking, or with items that are not reclaimed.
    private struct Open {
        let number: UInt64
        /// Items not reclaimed yet; nil while the pass is still taking.
        var outstanding: Int?
    }

    /// Where a batch is in `open`. Under `lock`.
    ///
    /// - Complexity: O(log *n*).
    private func index(of batch: Batch) -> Int {
        var range = open.indices
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range = open[middle].number <= batch.number ? middle..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Removes the batch if it is complete. Under `lock`.
    ///
    /// - Returns: Whether it was complete.
    private func closeIfComplete(_ index: Int) -> Bool {
        guard open[index].outstanding == 0 else { return false }
        open.remove(at: index)
        return true
    }

    /// Forgets what is complete. See `Rehearsal`.
    func restart() { lock.withLock { (begun, reclaimed) = (0, 0) } }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }
}
