// SPDX-License-Identifier: Apache-2.0

// A thread *retires* a reference when no new reader can reach its object. A *pass* of the
// reclamation thread scans the hazard pointers of all threads (in their frames), and releases what
// no frame pins. The comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

/// References that one thread has retired and does not release itself, because the release may run
/// user code, or because there are too many thread records to scan. Every pass of the reclamation
/// thread empties the ring.
///
/// Only the owner (the thread that has the ring's record) puts references in, and only a pass takes
/// them out. A ring is never freed: the next thread that has the record uses it. (Lamport,
/// "Specifying Concurrent Program Modules", ACM TOPLAS 5(2), 1983.)
@safe internal struct ReferenceRing: ~Copyable {
    /// The number of references put in so far. Only the owner writes it.
    let tail = Atomic<UInt>(0)

    /// The number of references taken out so far. Only a thread that holds the pass lock of the
    /// `ReclamationThread` writes it.
    let head = Atomic<UInt>(0)

    /// The references. The reference with the number *n* is in the slot *n* modulo the capacity.
    private let slots: UnsafeMutablePointer<SourcedReference>

    /// The largest number of references that may wait in the ring for a pass. (P16)
    static var capacity: UInt { ThreadRecord.backlogLimit }

    private init() {
        unsafe slots = .allocate(capacity: Int(Self.capacity))
    }

    static func allocate() -> UnsafeMutablePointer<ReferenceRing> {
        let ring = UnsafeMutablePointer<ReferenceRing>.allocate(capacity: 1)
        unsafe ring.initialize(to: ReferenceRing())
        return unsafe ring
    }

    /// Returns the slot of the reference with this number. Safe: rings are never freed.
    private borrowing func slot(_ number: UInt) -> UnsafeMutablePointer<SourcedReference> {
        unsafe slots + Int(number % Self.capacity)
    }

    var isEmpty: Bool {
        // Relaxed, both: the barrier before the call orders them, or the caller is the owner.
        head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)
    }

    /// Puts a reference in. Only the owner may call it.
    ///
    /// - Returns: The number of references that are in the ring now; nil if there was no room.
    borrowing func put(_ reference: SourcedReference) -> UInt? {
        // Relaxed: only the owner writes it.
        let number = tail.load(ordering: .relaxed)
        // Acquire: pairs with the release in take(_:); the slots below `head` have been read.
        guard number &- head.load(ordering: .acquiring) < Self.capacity else { return nil }
        // Safe: the slot is the owner's until the store below.
        unsafe slot(number).initialize(to: reference)
        // Release: pairs with the acquire in take(_:).
        tail.store(number &+ 1, ordering: .releasing)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: the light barrier orders it after the store; pairs with the heavy barrier in
        // ReclamationThread.hasRetired, before that thread parks. Either this load sees that all
        // earlier references were taken, or `hasRetired` sees the store.
        return number &+ 1 &- head.load(ordering: .relaxed)
    }

    /// Takes all references out, and calls `body` with each. The caller must hold the pass lock.
    borrowing func take(_ body: (SourcedReference) -> Void) {
        let first = head.load(ordering: .relaxed)  // Relaxed: written under the same lock.
        // Acquire: pairs with the release in put(_:); the slots below it are filled.
        let end = tail.load(ordering: .acquiring)
        if first == end { return }
        for offset in 0..<(end &- first) {
            // Safe: the owner has filled the slot, and does not fill it again before the store
            // below.
            unsafe body(slot(first &+ offset).pointee)
        }
        // Release: pairs with the acquire in put(_:).
        head.store(end, ordering: .releasing)
    }
}

/// A counted reference. If its release may run user code, it also names its source: see
/// `Retirable.sourceAddress`.
internal struct SourcedReference: BitwiseCopyable {
    let reference: UInt
    /// The source; 0 if the release runs no user code.
    let sourceAddress: UInt

    init(_ reference: UInt, of source: UInt = 0) { (self.reference, self.sourceAddress) = (reference, source) }

    var runsUserCode: Bool { sourceAddress != 0 }
}
