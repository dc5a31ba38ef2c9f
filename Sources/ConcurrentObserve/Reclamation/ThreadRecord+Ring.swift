// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

extension ThreadRecord {
    /// Has a reference released on a deinit thread when no frame pins its object any more. (P5)
    ///
    /// The object must be out of reach of readers that start from now on. Under no lock: where too
    /// many wait, the caller waits as `retire(_:isOneOfMany:)` says.
    ///
    /// - Parameters:
    ///   - reference: The address of a counted object; the caller's reference is passed on.
    ///   - source: Names the property.
    @usableFromInline
    static func retireForDeinitThreads(reference: UInt, from source: UInt) {
        // The caller's copies are counted before others can release the reference: see Frame.
        curcu_compiler_barrier()
        let isCrowded = DeinitThreads.mayBeCrowded(source)
        if isCrowded {
            // It pauses.
            retire(RetiredReference(reference, of: source, runsUserCode: true))
        } else if !putIntoRing(SourcedReference(reference, of: source)) {
            // It has paused.
            retireWithoutPause(RetiredReference(reference, of: source, runsUserCode: true))
        }
    }

    /// - Returns: False if there is no room, also after a wait of ten milliseconds.
    static func putIntoRing(_ reference: SourcedReference) -> Bool {
        // Safe: records and rings are never freed.
        let record = unsafe current
        let ring = unsafe record.ownRing
        guard let count = unsafe ring.pointee.put(reference) else {
            return unsafe putAfterWait(reference, record, ring)
        }
        // The first one must be noticed, and before the ring is full a pass must be made.
        if count == 1 || count == ReferenceRing.capacity / 2 {
            notice(count)
        } else {
            ReclamationThread.startIfAbsent()
        }
        return true
    }

    /// Other items would wait for a deinit thread: it does not wait.
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

    private static func notice(_ count: UInt) {
        ReclamationThread.wake(urgently: count > 1)
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// The calling thread's ring. Allocates one on the record's first reference of this kind.
    fileprivate var ownRing: UnsafeMutablePointer<ReferenceRing> {
        // Safe: records and rings are never freed. Relaxed: the owner's own.
        let address = unsafe pointee.ring.load(ordering: .relaxed)
        if let ring = unsafe UnsafeMutablePointer<ReferenceRing>(bitPattern: address) { return unsafe ring }
        let ring = unsafe ReferenceRing.allocate()
        // Release: pairs with the acquire in forRing(_:).
        unsafe pointee.ring.store(UInt(bitPattern: ring), ordering: .releasing)
        return unsafe ring
    }

    /// Visits the record's ring, if it has one. Any thread.
    func forRing(_ body: (UnsafeMutablePointer<ReferenceRing>) -> Void) {
        // Acquire: pairs with the release in ownRing. Safe: rings are never freed.
        if let ring = unsafe UnsafeMutablePointer<ReferenceRing>(bitPattern: pointee.ring.load(ordering: .acquiring)) {
            unsafe body(ring)
        }
    }
}
