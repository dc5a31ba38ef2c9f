// SPDX-License-Identifier: Apache-2.0

/// What one pass of the reclaimer has taken.
internal final class Batch {
    fileprivate let number: UInt64
    /// Items not reclaimed yet; nil while the pass is still taking.
    fileprivate var outstanding: Int?

    fileprivate init(number: UInt64) { self.number = number }
}

/// Tells when everything that was retired before some moment is reclaimed.
internal final class Batches: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    private let lock = ForkAwareLock()
    private var begun: UInt64 = 0
    private var open: [Batch] = []
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
            let batch = Batch(number: begun)
            open.append(batch)
            return batch
        }
    }

    /// Notes that a pass has taken all it takes: `count` items to reclaim, and some that are reclaimed already.
    func taken(_ batch: Batch, count: Int, finished: Int) {
        let isComplete = lock.withLock {
            batch.outstanding = count
            reclaimed += UInt(finished)
            return close()
        }
        if isComplete { completion.signal() }
    }

    /// Notes that one item of the batch is reclaimed.
    func finished(_ batch: Batch) {
        let isComplete = lock.withLock {
            reclaimed += 1
            batch.outstanding! -= 1
            return batch.outstanding == 0 && close()
        }
        if isComplete { completion.signal() }
    }

    func isComplete(through number: UInt64) -> Bool {
        lock.withLock { begun >= number && (open.first.map { $0.number > number } ?? true) }
    }

    /// Drops the complete batches; true if the oldest was one. Under the lock.
    private func close() -> Bool {
        let before = open.count
        open.removeAll { $0.outstanding == 0 }
        return open.count < before
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }
}
