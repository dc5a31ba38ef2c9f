// SPDX-License-Identifier: Apache-2.0

import Synchronization

// What the reclamation thread does with the magazines of all threads. Under the pass lock.
extension Magazine {
    /// Whether the references have waited long enough for their thread: nothing was claimed between
    /// three looks.
    ///
    /// - Parameter isUrgent: Does not wait.
    mutating func isDue(isUrgent: Bool) -> Bool {
        if isEmpty {
            looks = 0
            return false
        }
        let head = head.load(ordering: .relaxed)  // Relaxed: compared, not followed.
        looks = head == headSeen ? looks + 1 : 1
        headSeen = head
        return isUrgent || looks > 2
    }

    /// Claims all references for the reclamation thread.
    ///
    /// - Parameter room: As large as a magazine.
    mutating func sweep(into references: inout [UInt], by room: UnsafeMutablePointer<UInt>) {
        #if INSTRUMENTED
        if mutant(.anIdleThreadsMagazineStays) { return }
        #endif
        let count = unsafe claim(into: room)
        // Safe: so many are in the room.
        for index in 0..<count { unsafe references.append(room[index]) }
        sweptCount &+= UInt(count)
        looks = 0
    }
}

extension ReclamationThread {
    /// Whether some magazine has references that no thread has claimed. Any thread, after a
    /// barrier.
    var magazinesAreFilled: Bool {
        var found = false
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { if unsafe !$0.pointee.isEmpty { found = true } }
        }
        return found
    }

    /// Claims what has waited in its magazine for a while, or, for a drain, everything. Under the
    /// pass lock.
    func sweepMagazines(into references: inout [UInt]) {
        // Relaxed: a drain that waits for this pass was counted before the pass began, which the
        // lock of the batches orders.
        let isUrgent = drains.load(ordering: .relaxed) > 0
        // Safe: magazines are never freed; what is the sweeper's is guarded by the pass lock.
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

/// How many references magazines and rings have taken, and what became of them.
internal struct MagazineCounts {
    /// All that were put in, less those that a magazine's owner has handed over: they are counted as
    /// items.
    var retired: UInt = 0
    /// All that their own threads have released.
    var released: UInt = 0

    /// Looks at all magazines; what is released first, so that it is never more than what is
    /// retired.
    static func current() -> MagazineCounts {
        var counts = MagazineCounts()
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                // Relaxed, where nothing is said: statistics.
                let handedOver = unsafe magazine.pointee.handedOver.load(ordering: .relaxed)
                // Acquire: pairs with the release in finished(_:); what is released was put in.
                let released = unsafe magazine.pointee.released.load(ordering: .acquiring)
                counts.released &+= released &- handedOver
                counts.retired &+= unsafe magazine.pointee.tail.load(ordering: .relaxed) &- handedOver
            }
            // Relaxed: a statistic.
            unsafe record.forRing { unsafe counts.retired &+= $0.pointee.tail.load(ordering: .relaxed) }
        }
        return counts
    }
}

extension Magazine {
    /// In the child of a fork: counts what its thread had claimed as released.
    mutating func restartInChild() {
        // Relaxed, all: the child has one thread.
        released.store(head.load(ordering: .relaxed) &- sweptCount, ordering: .relaxed)
        releasesEnded.store(releasesBegun.load(ordering: .relaxed), ordering: .relaxed)
        weight = 0
    }

    /// Forgets what the rehearsal has done. Nothing is in it.
    mutating func restart() {
        // Relaxed, all: no other thread uses the library.
        tail.store(0, ordering: .relaxed)
        head.store(0, ordering: .relaxed)
        released.store(0, ordering: .relaxed)
        handedOver.store(0, ordering: .relaxed)
        sweptCount = 0
    }
}
