// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform

extension ReclamationThread {
    /// The result of a pass: the number of items that it took, the number of items that frames
    /// still hold, and whether threads may keep empty boxes.
    struct PassResult {
        let took: Int
        let stillHeld: Int
        let keepsBoxes: Bool
    }

    /// Takes everything that is retired, executes one barrier for all of it, scans every frame
    /// once, and reclaims the items that no frame holds.
    ///
    /// An item that some frame holds is kept for the next pass. It never delays another item.
    @discardableResult
    func pass() -> PassResult {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        unsafe record.pointee.isReclaiming = true
        defer { unsafe record.pointee.isReclaiming = false }
        return passLock.withLock {
            let batch = batches.begin()
            var sorted = takeRetired(batch)
            let count = sorted.count
            let keepsBoxes = sweepBoxesLocked()
            guard count > 0 || !held.isEmpty else {
                return PassResult(took: 0, stillHeld: 0, keepsBoxes: keepsBoxes)
            }

            // When the items of the batch were taken, no thread could begin to use them any more.
            // Therefore the barrier follows the taking, and the scan follows the barrier.
            if sorted.needsGracePeriod {
                waitForGracePeriod()
                gracePeriods.add(1, ordering: .relaxed)  // Relaxed: a statistic.
            }
            // After this barrier, the scan sees the current observer of every frame.
            if count > 0 { AsymmetricBarrier.heavy() }
            var triage = Triage()

            let reclaimed = triage.reclaimOrSort(&sorted, of: batch)
            if reclaimed > 0 { batches.finished(batch, count: reclaimed) }
            for work in held where triage.reclaimOrSort(work) { batches.finished(work.batch) }
            held = triage.held
            DeinitThreads.shared.enqueue(triage.withUserCode)
            CallbackAges.shared.observe()
            PendingEvents.look()
            return PassResult(took: count, stillHeld: held.count, keepsBoxes: keepsBoxes)
        }
    }

    /// Takes the items of all threads, runs the tasks among them, and sorts the other items. The
    /// caller must hold the pass lock.
    private func takeRetired(_ batch: Batch) -> SortedItems {
        var sorted = SortedItems()
        forEachRetired { sorted.append($0) }
        // The tasks run now, so that the items that they retire belong to this batch.
        let taskCount = sorted.doTasks()
        if taskCount > 0 { forEachRetired { sorted.append($0, doesTasks: false) } }
        sweepMagazinesLocked(into: &sorted.references)
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forRing { unsafe $0.pointee.take { sorted.sourcedReferences.append($0) } }
        }
        taken.signal()
        batches.taken(batch, count: sorted.count, finished: taskCount)
        return sorted
    }

    private func forEachRetired(_ body: (RetiredItem) -> Void) {
        unsafe ThreadRecords.shared.forEach { record in unsafe record.takeRetired(body) }
    }
}
