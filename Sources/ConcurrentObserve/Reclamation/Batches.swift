// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform

/// Identifies the items of one reclamation pass. It is a number, because every item carries it from
/// thread to thread.
internal struct Batch: Equatable {
    fileprivate let number: UInt64
}

/// A retired item, and its batch. The batch is not complete until the item is reclaimed.
internal struct RetiredWork {
    let item: RetiredItem
    let batch: Batch
}

/// Tracks when all items that were retired before a given moment are reclaimed.
internal final class Batches: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var begun: UInt64 = 0
    /// The batches that are not complete, oldest first. There is one for each pass that is taking
    /// items, or whose items are still held or wait for the deinit threads.
    private var open: [Open] = []
    private var reclaimed: UInt = 0

    /// It is signalled when a batch becomes complete.
    let completion = EventCount()

    /// The number of the next batch. Every item that is retired now belongs to that batch or to an
    /// earlier one.
    var nextToBegin: UInt64 { lock.withLock { begun + 1 } }

    /// The number of items reclaimed since the process began.
    var reclaimedCount: UInt { lock.withLock { reclaimed } }

    func begin() -> Batch {
        lock.withLock {
            begun += 1
            open.append(Open(number: begun, outstanding: nil))
            return Batch(number: begun)
        }
    }

    /// Records that a pass has taken all its items: `count` items are still to be reclaimed, and
    /// `finished` are reclaimed already.
    func taken(_ batch: Batch, count: Int, finished: Int) {
        let isComplete = lock.withLock {
            reclaimed += UInt(finished)
            let index = index(of: batch)
            open[index].outstanding = count
            return closeIfCompleteLocked(index)
        }
        if isComplete { completion.signal() }
    }

    /// Records that `count` items of the batch are reclaimed.
    func finished(_ batch: Batch, count: Int = 1) {
        let isComplete = lock.withLock {
            reclaimed += UInt(count)
            let index = index(of: batch)
            open[index].outstanding! -= count
            return closeIfCompleteLocked(index)
        }
        if isComplete { completion.signal() }
    }

    /// Whether a pass has taken, or is about to take, all items that were retired before
    /// `nextToBegin` returned this number.
    func hasBegun(_ number: UInt64) -> Bool { lock.withLock { begun >= number } }

    func isComplete(through number: UInt64) -> Bool {
        lock.withLock { begun >= number && (open.first.map { $0.number > number } ?? true) }
    }

    /// A batch that a pass is still taking, or that has items which are not reclaimed.
    private struct Open {
        let number: UInt64
        /// The number of items not reclaimed yet; nil while the pass is still taking items.
        var outstanding: Int?
    }

    /// Returns the index of a batch in `open`. The caller must hold `lock`.
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

    /// Removes the batch if it is complete. The caller must hold `lock`.
    ///
    /// - Returns: Whether the batch was complete.
    private func closeIfCompleteLocked(_ index: Int) -> Bool {
        guard open[index].outstanding == 0 else { return false }
        open.remove(at: index)
        return true
    }
}
