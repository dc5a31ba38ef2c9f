// SPDX-License-Identifier: Apache-2.0

extension ReclamationThread {
    /// How many items a pass took, how many are still held, and whether threads keep boxes.
    ///
    /// Not a tuple: the runtime makes a tuple's metadata under a lock, on first use, where a fork
    /// could catch it. (P18)
    struct PassResult {
        let took: Int
        let stillHeld: Int
        let keepsBoxes: Bool
    }

    /// Reclaims what can be reclaimed: takes everything that is retired, executes one barrier for
    /// all of it, then scans the list of records and every frame once.
    ///
    /// An item that some frame holds is put aside for the next pass; it never delays another item.
    ///
    /// - Parameter isRehearsal: No other thread uses the library: there is nothing to wait for.
    @discardableResult
    func pass(isRehearsal: Bool = false) -> PassResult {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        unsafe record.pointee.isReclaiming = true
        defer { unsafe record.pointee.isReclaiming = false }
        return passLock.withLock {
            let batch = batches.begin()
            var sorted = takeRetired(batch)
            let count = sorted.count
            let keepsBoxes = sweepBoxes()
            guard count > 0 || !held.isEmpty else {
                return PassResult(took: 0, stillHeld: 0, keepsBoxes: keepsBoxes)
            }

            // Everything in the batch was out of reach before it was taken: the barrier comes
            // after, the scan after that.
            if sorted.needsGracePeriod {
                waitForGracePeriod()
                gracePeriods.add(1, ordering: .relaxed)  // Relaxed: a statistic.
            }
            if count > 0, !isRehearsal { makeFramesVisible() }
            var triage = Triage()

            let reclaimed = triage.sort(&sorted, of: batch)
            if reclaimed > 0 { batches.finished(batch, count: reclaimed) }
            for work in held where triage.isReclaimedHere(work) {
                work.item.reclaim()
                work.item.release()
                batches.finished(work.batch)
            }
            held = triage.held
            DeinitThreads.shared.enqueue(triage.withUserCode)
            CallbackAges.shared.observe()
            PendingEvents.look()
            return PassResult(took: count, stillHeld: held.count, keepsBoxes: keepsBoxes)
        }
    }

    /// Takes what all threads have retired, does the tasks among it, and sorts the rest. Under the
    /// pass lock.
    private func takeRetired(_ batch: Batch) -> SortedItems {
        var sorted = SortedItems()
        forEachRetired { sorted.append($0) }
        // Tasks that nothing holds back are done now: what they retire belongs to the same batch.
        let taskCount = sorted.doTasks()
        if taskCount > 0 { forEachRetired { sorted.append($0, doesTasks: false) } }
        sweepMagazines(into: &sorted.references)
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

    /// The barrier after which a scan sees every frame's current observer.
    private func makeFramesVisible() {
        AsymmetricBarrier.heavy()
    }
}
