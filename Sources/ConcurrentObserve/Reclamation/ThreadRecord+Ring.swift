// SPDX-License-Identifier: Apache-2.0

// A thread *retires* a reference when no new reader can reach its object. A *pass* of the
// reclamation thread scans the hazard pointers of all threads (in their frames), and releases what
// no frame pins. The comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

extension ThreadRecord {
    /// Hands a reference over, to be released on a deinit thread when no frame pins its object any
    /// more. (P5)
    ///
    /// New readers must no longer be able to reach the object. The caller must hold no lock: if too
    /// many items wait, the call waits as `retire(_:isOneOfMany:)` does.
    ///
    /// - Parameters:
    ///   - reference: The address of a counted object. The caller passes its reference on.
    ///   - source: Identifies the property.
    @usableFromInline
    static func retireForDeinitThreads(reference: UInt, from source: UInt) {
        // The barrier keeps the retains of the caller's copies before the moment at which other
        // threads can release the reference: see HazardPointer.clear().
        compilerBarrier()
        let isCrowded = DeinitThreads.mayBeCrowded(source)
        if isCrowded {
            // This call waits for room.
            retire(RetiredReference(reference, of: source, runsUserCode: true))
        } else if !putIntoRing(SourcedReference(reference, of: source)) {
            // No second wait: `putIntoRing` has waited, unless this is a deinit thread.
            retireWithoutPause(RetiredReference(reference, of: source, runsUserCode: true))
        }
    }

    /// Puts a reference into the calling thread's ring. If the ring is full, it waits up to ten
    /// milliseconds and tries again. A deinit thread does not wait.
    ///
    /// - Returns: False if there was no room.
    static func putIntoRing(_ reference: SourcedReference) -> Bool {
        // Safe: records and rings are never freed.
        let record = unsafe current
        let ring = unsafe record.ownRing
        guard let count = unsafe ring.pointee.put(reference) else {
            return unsafe putAfterWait(reference, record, ring)
        }
        // The first reference must be noticed, and a pass must come before the ring is full.
        if count == 1 || count == ReferenceRing.capacity / 2 {
            ReclamationThread.wake(urgently: count > 1)
        } else {
            ReclamationThread.startIfAbsent()
        }
        return true
    }

    /// Waits until a pass has taken items, and tries again. Returns false if there is still no
    /// room. A deinit thread returns false at once, because other items would wait for it.
    @inline(never)
    private static func putAfterWait(
        _ reference: SourcedReference,
        _ record: UnsafeMutablePointer<ThreadRecord>,
        _ ring: UnsafeMutablePointer<ReferenceRing>
    ) -> Bool {
        // Safe: as above.
        if unsafe record.pointee.isDeinitThread { return false }
        ReclamationThread.shared.waitUntilTaken()
        return unsafe ring.pointee.put(reference) != nil
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// The calling thread's ring. Allocates one for the record's first reference of this kind.
    fileprivate var ownRing: UnsafeMutablePointer<ReferenceRing> {
        // Safe: records and rings are never freed. Relaxed: only the owner writes it.
        let address = unsafe pointee.ring.load(ordering: .relaxed)
        if let ring = unsafe UnsafeMutablePointer<ReferenceRing>(bitPattern: address) { return unsafe ring }
        let ring = unsafe ReferenceRing.allocate()
        // Release: pairs with the acquire in forRing(_:).
        unsafe pointee.ring.store(UInt(bitPattern: ring), ordering: .releasing)
        return unsafe ring
    }

    /// Calls `body` with the record's ring, if it has one. Any thread may call it.
    func forRing(_ body: (UnsafeMutablePointer<ReferenceRing>) -> Void) {
        // Acquire: pairs with the release in ownRing. Safe: rings are never freed.
        if let ring = unsafe UnsafeMutablePointer<ReferenceRing>(bitPattern: pointee.ring.load(ordering: .acquiring)) {
            unsafe body(ring)
        }
    }
}
