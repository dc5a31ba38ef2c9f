// SPDX-License-Identifier: Apache-2.0

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
