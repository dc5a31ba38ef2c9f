// SPDX-License-Identifier: Apache-2.0

/// The waiting items of one source: first in, first out, a run at a time. O(1) at both ends.
///
/// It is a class: a struct would be checked for exclusive access, as a whole, with every item. All
/// of it is guarded by the lock of the `DeinitThreads`.
internal final class SourceQueue {
    /// The source's name: see `Retirable.source`. Constant while the queue is in use.
    var source: UInt

    /// The run that the next item comes from: empty if nothing waits.
    private var items = RetiredList()
    private var batch: Batch?
    /// The runs after it, from `index` on.
    private var runs: [RetiredRun] = []
    private var index = 0
    private(set) var count = 0

    /// Threads that reclaim an item of this source now.
    var busy = 0
    /// Whether more items wait than the source has room for: threads that retire for it pause.
    var isCrowded = false

    // Written by `SourceQueues` alone.
    var isListed = false
    /// The next queue in the order of service, or in the pool.
    var next: SourceQueue?
    /// The next queue in the same bucket.
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
