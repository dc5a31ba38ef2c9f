// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ThreadRecord {
    /// The largest object, in bytes, that a magazine takes. Larger ones go to the deinit threads.
    static var largestInMagazine: Int { 1 << 16 }

    /// The largest object, in bytes, that a ring takes. A ring has room for many references, so
    /// their objects must be small.
    private static var largestInRing: Int { 1 << 12 }

    /// Hands a reference over, to be released when no frame pins its object any more. The release
    /// must run no user code. (P5)
    ///
    /// New readers must no longer be able to reach the object. The caller must hold no lock. If the
    /// magazine is full, the calling thread releases its references, and waits for no other thread.
    /// If the object is large, or if there are very many thread records, the call may wait as
    /// `retire(_:isOneOfMany:)` does.
    ///
    /// - Parameters:
    ///   - reference: The address of a counted object. The caller passes its reference on.
    ///   - weight: The bytes that the release frees; nil for the size of the object itself.
    ///   - source: Identifies the property.
    @usableFromInline
    static func retire(reference: UInt, weight: Int?, from source: UInt) {
        // The barrier keeps the retains of the caller's copies before the moment at which other
        // threads can release the reference: see Frame.
        compilerBarrier()
        let weight = weight ?? SwiftRuntime.allocatedSize(ofObjectAt: reference)
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

    /// Calls `body` with the record's magazine, if it has one. Any thread.
    func forMagazine(_ body: (UnsafeMutablePointer<Magazine>) -> Void) {
        // Acquire: pairs with the release in ownMagazine. Safe: magazines are never freed.
        if let magazine = unsafe UnsafeMutablePointer<Magazine>(bitPattern: pointee.magazine.load(ordering: .acquiring))
        {
            unsafe body(magazine)
        }
    }
}
