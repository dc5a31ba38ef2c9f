// SPDX-License-Identifier: Apache-2.0

// A thread *retires* a reference when no new reader can reach its object. A *pass* of the
// reclamation thread scans the hazard pointers of all threads (in their frames), and releases what
// no frame pins. The comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

extension ThreadRecord {
    /// The largest weight of a box that goes into a magazine. Heavier boxes go to the deinit
    /// threads.
    static var largestInMagazine: Int { 1 << 16 }

    /// The largest weight of a box that goes into a ring. A ring has room for many references, so
    /// their boxes must be light.
    private static var largestInRing: Int { 1 << 12 }

    /// Hands a box over, to be released when no frame pins it any more. The release must run no
    /// user code. (P5)
    ///
    /// New readers must no longer be able to reach the box. The caller must hold no lock. If the
    /// magazine is full, the calling thread releases its references, and waits for no other thread.
    /// If the box is heavy, or if there are very many thread records, the call may wait as
    /// `retire(_:isOneOfMany:)` does.
    ///
    /// - Parameters:
    ///   - box: The address of the box. The caller passes its reference on.
    ///   - weight: An estimate of the bytes that the release frees.
    ///   - source: Identifies the property.
    @usableFromInline
    static func retire(box: UInt, weight: Int, from source: UInt) {
        // The barrier keeps the retains of the caller's copies before the moment at which other
        // threads can release the reference: see HazardPointer.clear().
        compilerBarrier()
        if _slowPath(weight > largestInMagazine) {
            return retire(RetiredReference(box, of: source, runsUserCode: true))
        }
        // Safe: records and magazines are never freed.
        let record = unsafe current
        let magazine = unsafe record.ownMagazine
        let hasManyRecords = unsafe magazine.pointee.owned.pointee.hasManyRecords
        if hasManyRecords, weight <= largestInRing, putIntoRing(SourcedReference(box)) { return }
        unsafe magazine.pointee.makeRoom(for: weight) { unsafe record.handOver($0, from: magazine) }
        if unsafe magazine.pointee.put(box, weight: weight) {
            noticeMagazine()
        } else {
            ReclamationThread.startIfAbsent()
        }
    }

    private static func noticeMagazine() {
        ReclamationThread.wake(urgently: false)
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// The calling thread's magazine. Allocates one for the record's first retired reference.
    fileprivate var ownMagazine: UnsafeMutablePointer<Magazine> {
        // Safe: records and magazines are never freed. Relaxed: only the owner writes it.
        let address = unsafe pointee.magazine.load(ordering: .relaxed)
        if let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: address) { return unsafe magazine }
        let magazine = unsafe Magazine.allocate()
        // Release: pairs with the acquire in forMagazine(_:).
        unsafe pointee.magazine.store(UInt(bitPattern: magazine), ordering: .releasing)
        return unsafe magazine
    }

    /// The boxes that the calling thread keeps; nil before its first retired reference.
    var ownBoxes: UnsafeMutablePointer<BoxPool>? {
        // Safe: records and magazines are never freed. Relaxed: only the owner writes it.
        let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: pointee.magazine.load(ordering: .relaxed))
        return unsafe magazine?.pointee.boxes
    }

    /// Retires a reference once more, outside the magazine, because a frame pins its object.
    fileprivate func handOver(_ reference: UInt, from magazine: UnsafeMutablePointer<Magazine>) {
        // Relaxed: a statistic with one writer. Safe: magazines are never freed.
        let count = unsafe magazine.pointee.handedOver.load(ordering: .relaxed)
        unsafe magazine.pointee.handedOver.store(count &+ 1, ordering: .relaxed)
        ThreadRecord.retire(RetiredReference(reference, of: 0, runsUserCode: false), isOneOfMany: true)
    }

    /// Calls `body` with the record's magazine, if it has one. Any thread may call it.
    func forMagazine(_ body: (UnsafeMutablePointer<Magazine>) -> Void) {
        // Acquire: pairs with the release in ownMagazine. Safe: magazines are never freed.
        if let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: pointee.magazine.load(ordering: .acquiring))
        {
            unsafe body(magazine)
        }
    }
}
