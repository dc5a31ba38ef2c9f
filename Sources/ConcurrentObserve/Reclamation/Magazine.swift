// SPDX-License-Identifier: Apache-2.0

// A thread *retires* a reference when no new reader can reach its object. A *pass* of the
// reclamation thread scans the hazard pointers of all threads (in their frames), and releases what
// no frame pins. The comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

/// Boxes that one thread has retired, and whose values run no user code when they are destroyed.
/// The thread releases them itself, a full magazine at a time, after one barrier and one scan.
///
/// Only the owner (the thread that has the magazine's record) puts boxes in. The owner and the
/// sweeper take them out: each copies all addresses, and then claims the boxes by one
/// compare-exchange. The sweeper is the thread that makes a pass, most often the reclamation
/// thread. It claims boxes that stay unclaimed for a while, so that no box waits for its thread's
/// next change. (P14) A magazine is never freed: the next thread that has the record uses it.
///
/// (Magazines: Bonwick and Adams, "Magazines and Vmem", USENIX 2001. The claim is the steal
/// operation of a work-stealing queue, applied to all elements at once: Chase and Lev, "Dynamic
/// Circular Work-Stealing Deque", SPAA 2005.)
@safe internal struct Magazine: ~Copyable {
    /// The number of references put in so far. Only the owner writes it.
    let tail = Atomic<UInt>(0)

    /// The number of references claimed so far. References are claimed in the order in which they
    /// were put in, by a compare-exchange that changes this number.
    let head = Atomic<UInt>(0)

    /// The number of references that the owner has released, or handed over to the reclamation
    /// thread.
    let released = Atomic<UInt>(0)

    /// The number of references handed over. Each of them is also counted as a retired item.
    let handedOver = Atomic<UInt>(0)

    /// The number of times that the owner has begun to release claimed references. Only the owner
    /// writes it.
    let releasesBegun = Atomic<UInt>(0)
    /// The number of times that the owner has finished such a release. Only the owner writes it.
    let releasesEnded = Atomic<UInt>(0)

    /// The owner's state. It has its own memory, and so has the sweeper's state: an access to one
    /// of them is never an access to the other, nor to the fields that both threads use.
    let owned: UnsafeMutablePointer<Owned>
    /// The sweeper's state. The pass lock of the `ReclamationThread` guards it.
    let swept: UnsafeMutablePointer<Swept>

    /// The empty boxes that releases of this magazine have kept for reuse.
    let boxes: UnsafeMutablePointer<BoxPool>

    struct Owned {
        /// The sum of the weights, in bytes, of the boxes that were put in since the owner last saw
        /// the magazine empty.
        var weight = 0
        /// Whether there are so many thread records that the owner should not scan them.
        var hasManyRecords = false
    }

    struct Swept {
        /// The value of `head` at the last pass.
        var headSeen: UInt = 0
        /// The number of passes in a row that have found this value.
        var looks = 0
    }

    /// The largest number of thread records that the owner scans. With more records, it is faster
    /// to leave the references to a pass.
    private static var mostRecords: Int { 256 }

    /// The references. The reference with the number *n* is in the slot *n* modulo the capacity.
    private let slots: UnsafeMutablePointer<Atomic<UInt>>
    /// Room for the references that the owner has claimed; as large as `slots`.
    private let claimed: UnsafeMutablePointer<UInt>

    static var capacity: UInt { 128 }
    static var weightLimit: Int { 1 << 20 }

    private init() {
        let count = Int(Self.capacity)
        unsafe slots = .allocate(capacity: count)
        unsafe claimed = .allocate(capacity: count)
        for index in 0..<count { unsafe (slots + index).initialize(to: Atomic(0)) }
        unsafe claimed.initialize(repeating: 0, count: count)
        unsafe owned = .allocate(capacity: 1)
        unsafe owned.initialize(to: Owned())
        unsafe swept = .allocate(capacity: 1)
        unsafe swept.initialize(to: Swept())
        unsafe boxes = BoxPool.allocate()
    }

    static func allocate() -> UnsafeMutablePointer<Magazine> {
        let magazine = UnsafeMutablePointer<Magazine>.allocate(capacity: 1)
        unsafe magazine.initialize(to: Magazine())
        return unsafe magazine
    }

    /// Returns the slot of the reference with this number. Safe: magazines are never freed.
    private borrowing func slot(_ number: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
        unsafe slots + Int(number % Self.capacity)
    }

    /// Whether the magazine is empty. Any thread may read it. If the owner reads it, the answer
    /// includes everything that the owner has put in.
    var isEmpty: Bool {
        // Relaxed, both: the barrier before the call orders them, or the caller checks again.
        head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)
    }
}

// MARK: - Owner and sweeper

extension Magazine {
    /// Claims all references, and copies them to `room`.
    ///
    /// - Returns: The number of references.
    borrowing func claim(into room: UnsafeMutablePointer<UInt>) -> Int {
        while true {
            // Acquire: pairs with the exchange in take(_:_:); no reference is claimed twice.
            let first = head.load(ordering: .acquiring)
            // Acquire: pairs with the release in put(_:weight:); the slots below it are filled.
            let end = tail.load(ordering: .acquiring)
            let count = Int(bitPattern: end &- first)
            if count == 0 { return 0 }
            // `first` is out of date: since its load, the other claimer has claimed references, and
            // the owner has put in more. `room` is too small for this number.
            if count > Int(Self.capacity) { continue }
            for index in 0..<count {
                // Safe: the room is as large as a magazine. Relaxed: ordered by `tail`. The owner
                // overwrites no slot before `head` has passed it, and then the exchange fails.
                unsafe room[index] = slot(first &+ UInt(index)).pointee.load(ordering: .relaxed)
            }
            if take(first, end) { return count }
        }
    }

    private borrowing func take(_ first: UInt, _ end: UInt) -> Bool {
        // Release: pairs with the acquires of `head`. The owner overwrites the slots after they
        // were read; the next claimer sees them filled; a drain sees that the release has begun.
        // Relaxed on failure: the caller tries again.
        return head.compareExchange(
            expected: first,
            desired: end,
            successOrdering: .releasing,
            failureOrdering: .relaxed
        ).exchanged
    }

    private borrowing func finished(_ count: Int) {
        // Release: pairs with the acquire in MagazineCounts.released().
        released.add(UInt(count), ordering: .releasing)
    }
}

// MARK: - The owner

extension Magazine {
    /// Whether there is no room for a box of `weight` bytes. Only the owner may call it.
    @inline(__always)
    borrowing func isFull(for weight: Int) -> Bool {
        // Safe: magazines are never freed.
        let present = unsafe owned.pointee.weight
        // Acquire: pairs with the exchange in take(_:_:); the slots below `head` have been read.
        // Relaxed: only the owner writes `tail`.
        let count = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)
        return count >= Self.limit || (count > 0 && present &+ weight > Self.weightLimit)
    }

    /// Puts a reference in. Only the owner may call it, and only if there is room.
    ///
    /// - Returns: Whether the magazine was empty. Then the sweeper may not know of the reference.
    @inline(__always)
    borrowing func put(_ reference: UInt, weight: Int) -> Bool {
        // Relaxed: only the owner writes it.
        let number = tail.load(ordering: .relaxed)
        // Relaxed: ordered by the store that follows.
        unsafe slot(number).pointee.store(reference, ordering: .relaxed)
        // Release: pairs with the acquire in claim(into:).
        tail.store(number &+ 1, ordering: .releasing)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: the light barrier orders it after the store; pairs with the heavy barrier in
        // ReclamationThread.hasRetired. Either this load sees that all earlier references were
        // claimed, or the sweeper, which checks all magazines before it parks, sees the store.
        let wasEmpty = head.load(ordering: .relaxed) == number
        // Safe: magazines are never freed.
        unsafe owned.pointee.weight = wasEmpty ? weight : owned.pointee.weight &+ weight
        return wasEmpty
    }

    /// Releases the references if there is no room for a box of this weight. Only the owner may
    /// call it, under no lock.
    @inline(__always)
    borrowing func makeRoom(for weight: Int, handOver: (UInt) -> Void) {
        if isFull(for: weight) { release(handOver: handOver) }
    }

    /// Releases all boxes that no frame pins, and hands the others over. Only the owner may call
    /// it, under no lock. Runs no user code.
    ///
    /// - Parameter handOver: Takes over a reference whose box is pinned.
    @inline(never)
    borrowing func release(handOver: (UInt) -> Void) {
        // Relaxed: ordered by the exchange of the claim. A drain that finds the references claimed
        // also sees this store.
        releasesBegun.store(releasesBegun.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        releaseClaimed(handOver: handOver)
        // Release: pairs with the acquire in MagazineReleases.wait(until:).
        releasesEnded.store(releasesEnded.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private borrowing func releaseClaimed(handOver: (UInt) -> Void) {
        // Safe, all: magazines and pools are never freed. After the claim, this thread owns the
        // references.
        let count = unsafe claim(into: claimed)
        guard count > 0 else { return }
        unsafe boxes.pointee.empty()
        AsymmetricBarrier.heavy()
        let scan = FrameScan()
        unsafe owned.pointee.hasManyRecords = scan.recordCount > Self.mostRecords
        var emptied = 0
        for index in 0..<count {
            let box = unsafe claimed[index]
            if scan.isPinned(box) {
                handOver(box)
            } else if BoxPool.empty(box) {
                unsafe claimed[emptied] = box
                emptied += 1
            } else {
                releaseReference(box)
            }
        }
        unsafe boxes.pointee.keep(claimed, emptied)
        finished(count)
    }

    /// The number of references in a full magazine. The owner releases them before it puts in
    /// another reference.
    private static var limit: UInt {
        return capacity
    }
}
