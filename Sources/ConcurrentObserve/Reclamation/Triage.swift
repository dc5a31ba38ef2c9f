// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

/// Decides, after one scan of the frames, how each item of a pass is reclaimed.
internal struct Triage {
    private let scan = FrameScan()
    /// Items that some frame holds.
    private(set) var held: [RetiredWork] = []
    /// Items that the deinit threads take over, all in one step.
    private(set) var withUserCode: [RetiredRun] = []

    /// Reclaims the items that no frame holds and whose reclaiming runs no user code. Adds the
    /// others to `held` or to `withUserCode`.
    ///
    /// - Returns: The number of reclaimed items.
    mutating func reclaimOrSort(_ items: inout SortedItems, of batch: Batch) -> Int {
        var reclaimed = 0
        while let item = items.others.popFirst() {
            if reclaimOrSort(RetiredWork(item: item, batch: batch)) { reclaimed += 1 }
        }
        for reference in items.references {
            if scan.isPinned(reference) {
                let item = RetiredReference(reference, of: 0, runsUserCode: false)
                held.append(RetiredWork(item: RetiredItem(item), batch: batch))
            } else {
                releaseReference(reference)
                reclaimed += 1
            }
        }
        for retired in items.sourcedReferences {
            if scan.isPinned(retired.reference) {
                let item = RetiredReference(
                    retired.reference,
                    of: retired.sourceAddress,
                    runsUserCode: retired.runsUserCode
                )
                held.append(RetiredWork(item: RetiredItem(item), batch: batch))
            } else if !retired.runsUserCode {
                releaseReference(retired.reference)
                reclaimed += 1
            } else {
                handOver(RetiredItem(reference: retired.reference), of: retired.sourceAddress, in: batch)
            }
        }
        for var run in items.takeItemsWithUserCode() {
            if scan.hasCurrents {
                while let item = run.items.popFirst() {
                    _ = reclaimOrSort(RetiredWork(item: item, batch: batch))
                }
            } else {
                // No callback runs anywhere, so no frame holds any of these items.
                withUserCode.append(
                    RetiredRun(items: run.items, batch: batch, sourceAddress: run.sourceAddress)
                )
            }
        }
        return reclaimed
    }

    /// Reclaims one item, if the reclamation thread can and may do so now. If not, adds it to
    /// `held`, for the next pass, or to `withUserCode`, for the deinit threads.
    ///
    /// - Returns: Whether the item is reclaimed.
    mutating func reclaimOrSort(_ work: RetiredWork) -> Bool {
        if scan.holds(work.item) {
            held.append(work)
            return false
        }
        guard !work.item.runsUserCode else {
            handOver(work.item, of: work.item.sourceAddress, in: work.batch)
            return false
        }
        work.item.reclaim()
        work.item.release()
        return true
    }

    private mutating func handOver(_ item: RetiredItem, of source: UInt, in batch: Batch) {
        if withUserCode.last?.batch != batch || withUserCode.last?.sourceAddress != source {
            withUserCode.append(RetiredRun(batch: batch, sourceAddress: source))
        }
        withUserCode[withUserCode.count - 1].append(item)
    }
}
