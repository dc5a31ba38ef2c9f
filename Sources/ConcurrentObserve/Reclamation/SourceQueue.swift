// SPDX-License-Identifier: Apache-2.0

/// What waits to be destroyed of one source: first in, first out, a run at a time. O(1) at both
/// ends.
///
/// A class: as a struct it would be checked for exclusive access, as a whole, with every item.
/// Guarded by the lock of the `DeinitThreads`, all of it.
internal final class SourceQueue {
    /// The source's name: see `Retirable.source`. Constant while the queue is in use.
    var source: UInt

    /// What the next item comes from: empty if nothing waits.
    private var items = RetiredList()
    private var batch: Batch?
    /// What comes after it, from the index on.
    private var runs: [RetiredRun] = []
    private var index = 0
    private(set) var count = 0

    /// Threads that destroy an item of this source now.
    var busy = 0
    /// Whether more waits than the source may have waiting: threads that retire for it pause.
    var isCrowded = false

    // Written by `SourceQueues` alone.
    var isListed = false
    /// The next in the order of turns, or among those that are kept to be used again.
    var next: SourceQueue?
    /// The next in the same bucket.
    var sibling: SourceQueue?

    init(source: UInt) { self.source = source }

    func append(_ run: RetiredRun) {
        count += run.items.count
        if items.count == 0, index == runs.count {
            (items, batch) = (run.items, run.batch)
        } else if let last = runs.last, last.batch == run.batch {
            runs[runs.count - 1].items.append(run.items)
        } else if runs.isEmpty, batch == run.batch {
            items.append(run.items)
        } else {
            runs.append(run)
        }
    }

    func popFirst() -> RetiredWork? {
        guard count > 0 else { return nil }
        if items.count == 0 { takeNextRun() }
        count -= 1
        var rest = items
        defer { items = rest }
        return RetiredWork(item: rest.popFirst()!, batch: batch!)
    }

    private func takeNextRun() {
        (items, batch) = (runs[index].items, runs[index].batch)
        index += 1
        if index * 2 > runs.count {
            runs.removeFirst(index)
            index = 0
        }
    }
}
