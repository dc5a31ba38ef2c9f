// SPDX-License-Identifier: Apache-2.0

import Synchronization

// What the reclamation thread does with the magazines of all threads. Under the pass lock.
extension Magazine {
    /// Whether the references have waited long enough for their thread: nothing was claimed between
    /// three looks.
    ///
    /// - Parameter isUrgent: Does not wait.
    borrowing func isDue(isUrgent: Bool) -> Bool {
        // Acquire: pairs with the exchange in claim(into:); a drain that finds references claimed finds
        // that their release has begun.
        let head = head.load(ordering: .acquiring)
        // Relaxed: a later look finds the rest.
        if head == tail.load(ordering: .relaxed) {
            // Safe, here and below: magazines are never freed.
            unsafe swept.pointee.looks = 0
            return false
        }
        unsafe swept.pointee.looks = head == swept.pointee.headSeen ? swept.pointee.looks + 1 : 1
        unsafe swept.pointee.headSeen = head
        return unsafe isUrgent || swept.pointee.looks > 2
    }

    /// Claims all references for the reclamation thread.
    ///
    /// - Parameter room: As large as a magazine.
    borrowing func sweep(into references: inout [UInt], by room: UnsafeMutablePointer<UInt>) {
        let count = unsafe claim(into: room)
        // Safe: so many are in the room.
        for index in 0..<count { unsafe references.append(room[index]) }
        unsafe swept.pointee.count &+= UInt(count)
        unsafe swept.pointee.looks = 0
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
internal enum MagazineCounts {
    /// Looks at all magazines for what is released: before a look for what is retired.
    static func released() -> UInt {
        var count: UInt = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Acquire: pairs with the release in finished(_:); what is released was put in, or handed
            // over.
            unsafe record.forMagazine { unsafe count &+= $0.pointee.released.load(ordering: .acquiring) }
        }
        return count
    }

    /// Looks at all magazines and rings for what was put in.
    static func put() -> UInt {
        var count: UInt = 0
        // Relaxed, both: statistics.
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { unsafe count &+= $0.pointee.tail.load(ordering: .relaxed) }
            unsafe record.forRing { unsafe count &+= $0.pointee.tail.load(ordering: .relaxed) }
        }
        return count
    }

    /// Looks for what magazines' owners have handed over, and is counted as items, too: last.
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

extension Magazine {
    /// In the child of a fork: counts what its thread had claimed as released.
    borrowing func restartInChild() {
        // Relaxed, all: the child has one thread.
        unsafe released.store(head.load(ordering: .relaxed) &- swept.pointee.count, ordering: .relaxed)
        releasesEnded.store(releasesBegun.load(ordering: .relaxed), ordering: .relaxed)
        unsafe owned.pointee.weight = 0
        unsafe boxes.pointee.restartInChild()
    }

    /// Forgets what the rehearsal has done. Nothing is in it.
    borrowing func restart() {
        // Relaxed, all: no other thread uses the library.
        tail.store(0, ordering: .relaxed)
        head.store(0, ordering: .relaxed)
        released.store(0, ordering: .relaxed)
        handedOver.store(0, ordering: .relaxed)
        unsafe swept.pointee.count = 0
    }
}
