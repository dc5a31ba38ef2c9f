// SPDX-License-Identifier: Apache-2.0

import Synchronization

// How the reclamation thread sweeps the magazines of all threads. The caller must hold the pass
// lock.
extension Magazine {
    /// Whether the sweeper must claim the references. True if three passes in a row, this one
    /// included, have found that none was claimed. False if there are no references.
    ///
    /// - Parameter isUrgent: Whether the sweeper must claim waiting references at once.
    borrowing func isDue(isUrgent: Bool) -> Bool {
        // Acquire: pairs with the exchange in take(_:_:); a drain that finds references claimed
        // also finds that their release has begun.
        let head = head.load(ordering: .acquiring)
        // Relaxed: a later pass finds the rest.
        if head == tail.load(ordering: .relaxed) {
            // Safe, here and below: magazines are never freed.
            unsafe swept.pointee.looks = 0
            return false
        }
        unsafe swept.pointee.looks = head == swept.pointee.headSeen ? swept.pointee.looks + 1 : 1
        unsafe swept.pointee.headSeen = head
        return unsafe isUrgent || swept.pointee.looks > 2
    }

    /// Claims all references for the reclamation thread, and appends them to `references`.
    ///
    /// - Parameter room: Room for as many references as a magazine has.
    borrowing func sweep(into references: inout [UInt], by room: UnsafeMutablePointer<UInt>) {
        let count = unsafe claim(into: room)
        // Safe: `claim(into:)` has filled `count` places of the room.
        for index in 0..<count { unsafe references.append(room[index]) }
        unsafe swept.pointee.looks = 0
    }
}

extension ReclamationThread {
    /// Whether some magazine has references that no thread has claimed. Any thread may read it,
    /// after a barrier.
    var magazinesAreFilled: Bool {
        var found = false
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { if unsafe !$0.pointee.isEmpty { found = true } }
        }
        return found
    }

    /// Claims the references that have waited in a magazine for a while, and appends them to
    /// `references`. While a thread drains, claims all references. The caller must hold the pass
    /// lock.
    func sweepMagazinesLocked(into references: inout [UInt]) {
        // Relaxed: a drain that waits for this pass was counted before the pass began. The lock of
        // the batches orders the two.
        let isUrgent = drains.load(ordering: .relaxed) > 0
        // Safe: magazines are never freed. The sweeper's state is guarded by the pass lock.
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                if unsafe magazine.pointee.isDue(isUrgent: isUrgent) {
                    unsafe magazine.pointee.sweep(into: &references, by: sweepRoom)
                }
            }
        }
    }
}

// MARK: - Counts

/// Counts references for the diagnostics: references that were put into magazines and rings, and
/// references that the owners of magazines released or handed over.
internal enum MagazineCounts {
    /// Returns how many references the owners of all magazines have released or handed over. The
    /// caller must call this first, and then count the retired references: `put()`, and the retired
    /// items.
    static func released() -> UInt {
        var count: UInt = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Acquire: pairs with the release in finished(_:); each reference that is counted as
            // released is also counted as put in, or as handed over.
            unsafe record.forMagazine { unsafe count &+= $0.pointee.released.load(ordering: .acquiring) }
        }
        return count
    }

    /// Returns how many references were put into all magazines and rings.
    static func put() -> UInt {
        var count: UInt = 0
        // Relaxed, both: statistics.
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { unsafe count &+= $0.pointee.tail.load(ordering: .relaxed) }
            unsafe record.forRing { unsafe count &+= $0.pointee.tail.load(ordering: .relaxed) }
        }
        return count
    }

    /// Returns how many references the magazines' owners have handed over. The other counts include
    /// each of these twice: as a reference, and as a retired item. The caller must call this last,
    /// so that it subtracts all of them.
    static func handedOver() -> UInt {
        var count: UInt = 0
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine {
                // Relaxed: a statistic.
                unsafe count &+= $0.pointee.handedOver.load(ordering: .relaxed)
            }
        }
        return count
    }
}
