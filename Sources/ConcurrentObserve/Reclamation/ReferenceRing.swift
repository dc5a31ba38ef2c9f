// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// References that one thread has retired, and that it does not release itself, since that may run
/// user code: a ring that every pass of the reclamation thread empties.
///
/// Only the record's thread puts references in, and only a pass takes them out. A ring is never
/// freed; the record's next thread goes on with it. (Lamport, "Specifying Concurrent Program
/// Modules", ACM TOPLAS 5(2), 1983.)
@safe internal struct ReferenceRing: ~Copyable {
    /// How many references have been put in. Written by the owner alone.
    let tail = Atomic<UInt>(0)

    /// How many have been taken out. Written under the pass lock of the `ReclamationThread`.
    let head = Atomic<UInt>(0)

    /// The references, each at its number modulo the capacity.
    private let slots: UnsafeMutablePointer<SourcedReference>

    /// As many as items may wait to be taken. (P16)
    static var capacity: UInt { ThreadRecord.backlogLimit }

    private init() {
        unsafe slots = .allocate(capacity: Int(Self.capacity))
    }

    static func allocate() -> UnsafeMutablePointer<ReferenceRing> {
        let ring = UnsafeMutablePointer<ReferenceRing>.allocate(capacity: 1)
        unsafe ring.initialize(to: ReferenceRing())
        return unsafe ring
    }

    /// Where the reference of a number is. Safe: rings are never freed.
    private borrowing func slot(_ number: UInt) -> UnsafeMutablePointer<SourcedReference> {
        unsafe slots + Int(number % Self.capacity)
    }

    var isEmpty: Bool {
        // Relaxed, both: the barrier before the look orders them, or the caller is the owner.
        head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)
    }

    /// Puts a reference in. The owner alone.
    ///
    /// - Returns: How many are in it now; nil if there was no room.
    borrowing func put(_ reference: SourcedReference) -> UInt? {
        // Relaxed: the owner's own.
        let number = tail.load(ordering: .relaxed)
        // Acquire: pairs with the release in take(_:); the slots below it have been read.
        guard number &- head.load(ordering: .acquiring) < Self.capacity else { return nil }
        // Safe: the slot is the owner's until the store below.
        unsafe slot(number).initialize(to: reference)
        // Release: pairs with the acquire in take(_:).
        tail.store(number &+ 1, ordering: .releasing)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: after the store, by the light barrier; pairs with the heavy one of the look
        // before the reclamation thread parks. Either this load sees that all before was taken, or
        // that look sees the store.
        return number &+ 1 &- head.load(ordering: .relaxed)
    }

    /// Takes all references out, and visits them. Under the pass lock.
    borrowing func take(_ body: (SourcedReference) -> Void) {
        let first = head.load(ordering: .relaxed)  // Relaxed: written under the same lock.
        // Acquire: pairs with the release in put(_:); the slots below it are filled.
        let end = tail.load(ordering: .acquiring)
        if first == end { return }
        for offset in 0..<(end &- first) {
            // Safe: the owner has filled it, and fills it again after the store below.
            unsafe body(slot(first &+ offset).pointee)
        }
        // Release: pairs with the acquire in put(_:).
        head.store(end, ordering: .releasing)
    }

    /// Forgets what the rehearsal has done. Nothing is in it.
    borrowing func restart() {
        // Relaxed, both: no other thread uses the library.
        tail.store(0, ordering: .relaxed)
        head.store(0, ordering: .relaxed)
    }
}

/// A counted reference, and what names the source that it is of, if releasing it may run user code:
/// see `Retirable.source`.
internal struct SourcedReference: BitwiseCopyable {
    let reference: UInt
    /// 0 if it runs none.
    let source: UInt

    init(_ reference: UInt, of source: UInt = 0) { (self.reference, self.source) = (reference, source) }

    var runsUserCode: Bool { source != 0 }
}
