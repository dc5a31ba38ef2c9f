// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

extension ThreadRecord {
    /// References to larger objects go to the deinit threads.
    static var largestInMagazine: Int { 1 << 16 }

    /// A ring has room for very many, so that they are to be small.
    private static var largestInRing: Int { 1 << 12 }

    /// Has a reference released when no frame pins its object any more. Releasing it runs no user
    /// code. (P5)
    ///
    /// The object must be out of reach of readers that start from now on. Under no lock: a full
    /// magazine is released by the calling thread, which waits for no other.
    ///
    /// - Parameters:
    ///   - reference: The address of a counted object; the caller's reference is passed on.
    ///   - weight: How many bytes it stands for; nil for those of the object itself.
    ///   - source: Names the property.
    @usableFromInline
    static func retire(reference: UInt, weight: Int?, from source: UInt) {
        // The caller's copies are counted before others can release the reference: see Frame.
        curcu_compiler_barrier()
        // Safe: the caller's reference keeps the object, of which the runtime has allocated each by itself.
        let weight = unsafe weight ?? curcu_allocated_size(UnsafeRawPointer(bitPattern: reference).unsafelyUnwrapped)
        if _slowPath(weight > largestInMagazine) {
            return retire(RetiredReference(reference, of: source, runsUserCode: true))
        }
        // Safe: records and magazines are never freed.
        let record = unsafe current
        let magazine = unsafe record.ownMagazine
        let hasManyRecords = unsafe magazine.pointee.owned.pointee.hasManyRecords
        if hasManyRecords, weight <= largestInRing, putIntoRing(SourcedReference(reference)) { return }
        unsafe magazine.pointee.makeRoom(for: weight) { unsafe record.handOver($0, from: magazine) }
        if unsafe magazine.pointee.put(reference, weight: weight) {
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
    /// The calling thread's magazine. Allocates one on the record's first retired reference.
    fileprivate var ownMagazine: UnsafeMutablePointer<Magazine> {
        // Safe: records and magazines are never freed. Relaxed: the owner's own.
        let address = unsafe pointee.magazine.load(ordering: .relaxed)
        if let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: address) { return unsafe magazine }
        let magazine = unsafe Magazine.allocate()
        // Release: pairs with the acquire in forMagazine(_:).
        unsafe pointee.magazine.store(UInt(bitPattern: magazine), ordering: .releasing)
        return unsafe magazine
    }

    /// The boxes that the calling thread keeps; nil before its first retired reference.
    var ownBoxes: UnsafeMutablePointer<BoxPool>? {
        // Safe: records and magazines are never freed. Relaxed: the owner's own.
        let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: pointee.magazine.load(ordering: .relaxed))
        return unsafe magazine?.pointee.boxes
    }

    /// Retires a reference once more, outside the magazine, since a frame pins its object.
    fileprivate func handOver(_ reference: UInt, from magazine: UnsafeMutablePointer<Magazine>) {
        // First: a fork between the two loses the item, and counts none. Relaxed: a statistic with
        // one writer. Safe: magazines are never freed.
        let count = unsafe magazine.pointee.handedOver.load(ordering: .relaxed)
        unsafe magazine.pointee.handedOver.store(count &+ 1, ordering: .relaxed)
        ThreadRecord.retire(RetiredReference(reference, of: 0, runsUserCode: false), isOneOfMany: true)
    }

    /// Visits the record's magazine, if it has one. Any thread.
    func forMagazine(_ body: (UnsafeMutablePointer<Magazine>) -> Void) {
        // Acquire: pairs with the release in ownMagazine. Safe: magazines are never freed.
        if let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: pointee.magazine.load(ordering: .acquiring))
        {
            unsafe body(magazine)
        }
    }

    /// In the child of a fork, which has one thread: what the record's thread had claimed and not
    /// released is lost, and counts as released.
    func countMagazine() {
        unsafe forMagazine { magazine in unsafe magazine.pointee.restartInChild() }
    }
}
