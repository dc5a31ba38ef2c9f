// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// References that one thread has retired, and that run no user code when they are released: the
/// thread itself releases them, a full magazine at a time, after one barrier and one scan.
///
/// Only the record's thread puts references in. It and the reclamation thread take them out: each
/// reads all that are there and then claims them by one compare-exchange. The reclamation thread
/// sweeps what has not been claimed for a while, so that nothing waits for its thread's next
/// change. (P14) A magazine is never freed; the record's next thread goes on with it.
///
/// (Magazines: Bonwick and Adams, "Magazines and Vmem", USENIX 2001. The claim is that of a
/// work-stealing queue's steal, of everything at once: Chase and Lev, "Dynamic Circular
/// Work-Stealing Deque", SPAA 2005.)
@safe internal struct Magazine: ~Copyable {
    /// How many references have been put in. Written by the owner alone.
    let tail = Atomic<UInt>(0)

    /// How many have been claimed: they are taken out in their order. Moved by compare-exchange.
    let head = Atomic<UInt>(0)

    /// How many the owner is done with: it has released them, or handed them over to the
    /// reclamation thread.
    let released = Atomic<UInt>(0)

    /// How many of these were handed over, and are counted as retired once more.
    let handedOver = Atomic<UInt>(0)

    /// How often the owner has begun to release what it claims, and how often it has finished.
    /// Written by the owner alone.
    let releasesBegun = Atomic<UInt>(0)
    let releasesEnded = Atomic<UInt>(0)

    /// What the owner alone knows, and what the sweeper alone does, under the pass lock of the
    /// `ReclamationThread`. They are apart from the rest, which both use: no access of the one is an
    /// access to what the other has.
    let owned: UnsafeMutablePointer<Owned>
    let swept: UnsafeMutablePointer<Swept>

    /// The boxes that the magazine's releases have emptied.
    let boxes: UnsafeMutablePointer<BoxPool>

    struct Owned {
        /// Bytes behind the references since the owner last saw the magazine empty.
        var weight = 0
        /// Whether there are so many thread records that the owner should not scan them.
        var hasManyRecords = false
        /// Whether the owner is releasing what it has claimed.
        var isReleasing = false
    }

    struct Swept {
        /// `head` at the last look, and how many looks have found it there.
        var headSeen: UInt = 0
        var looks = 0
        /// How many references the sweeper has claimed.
        var count: UInt = 0
    }

    /// With more records a scan for 64 references takes longer than to leave them to a pass.
    private static var mostRecords: Int { 256 }

    /// The references, each at its number modulo the capacity; then as many that the owner has
    /// claimed.
    private let slots: UnsafeMutablePointer<Atomic<UInt>>
    private let claimed: UnsafeMutablePointer<UInt>

    static var capacity: UInt { 64 }
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

    /// Where the reference of a number is. Safe: magazines are never freed.
    private borrowing func slot(_ number: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
        unsafe slots + Int(number % Self.capacity)
    }

    /// Whether nothing is in it. Any thread; for the owner exact as to what it has put in.
    var isEmpty: Bool {
        // Relaxed, both: the barrier before the look orders them, or the caller looks again.
        head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)
    }
}

// MARK: - Owner and sweeper

extension Magazine {
    /// Claims all references, and copies them to `room`.
    ///
    /// - Returns: How many there were.
    borrowing func claim(into room: UnsafeMutablePointer<UInt>) -> Int {
        while true {
            // Acquire: pairs with the exchange below; what another has claimed is not claimed again.
            let first = head.load(ordering: .acquiring)
            // Acquire: pairs with the release in put(_:); the slots below it are filled.
            let end = tail.load(ordering: .acquiring)
            let count = Int(bitPattern: end &- first)
            if count == 0 { return 0 }
            // `first` is old: since it was loaded, another has claimed, and the owner has put in more. There is no room for so many.
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
        // Release: pairs with the acquires of `head`. The owner overwrites the slots after they were
        // read; who claims next finds them put in; a drain finds the release that has begun.
        // Relaxed, when it fails: tried again.
        return head.compareExchange(
            expected: first,
            desired: end,
            successOrdering: .releasing,
            failureOrdering: .relaxed
        ).exchanged
    }

    private borrowing func finished(_ count: Int) {
        // Release: pairs with the acquire in MagazineCounts.
        released.add(UInt(count), ordering: .releasing)
    }
}

// MARK: - The owner

extension Magazine {
    /// Whether there is no room for a reference to so many bytes. The owner alone.
    @inline(__always)
    borrowing func isFull(for weight: Int) -> Bool {
        // Safe: magazines are never freed.
        let present = unsafe owned.pointee.weight
        // Acquire: pairs with the exchange in claim(into:); the slots below it have been read.
        // Relaxed: the owner's own.
        let count = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)
        return count >= Self.limit || (count > 0 && present &+ weight > Self.weightLimit)
    }

    /// Puts a reference in. There is room; the owner alone.
    ///
    /// - Returns: Whether the magazine was empty, so that the sweeper may not know of it.
    @inline(__always)
    borrowing func put(_ reference: UInt, weight: Int) -> Bool {
        // Relaxed: the owner's own.
        let number = tail.load(ordering: .relaxed)
        // Relaxed: ordered by the store that follows.
        unsafe slot(number).pointee.store(reference, ordering: .relaxed)
        // Release: pairs with the acquire in claim(into:).
        tail.store(number &+ 1, ordering: .releasing)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: after the store, by the light barrier; pairs with the heavy one in
        // ReclamationThread.hasRetired. Either this load sees that all before was claimed, or the
        // sweeper, which looks before it parks, sees the store.
        let wasEmpty = head.load(ordering: .relaxed) == number
        // Safe: magazines are never freed.
        unsafe owned.pointee.weight = wasEmpty ? weight : owned.pointee.weight &+ weight
        return wasEmpty
    }

    /// Releases what is there, if there is no room for a reference to so many bytes. The owner alone, under no lock.
    @inline(__always)
    borrowing func makeRoom(for weight: Int, handOver: (UInt) -> Void) {
        // Again, where a value that is said to be inert, and is not, has filled it meanwhile.
        while isFull(for: weight) { release(handOver: handOver) }
    }

    /// Releases all references that no frame pins, and hands the others over. The owner alone,
    /// under no lock. Runs no user code.
    ///
    /// - Parameter handOver: Takes over a reference that is pinned.
    @inline(never)
    borrowing func release(handOver: (UInt) -> Void) {
        // Relaxed: a drain that has seen the references claimed sees this, by the exchange.
        releasesBegun.store(releasesBegun.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        // Safe: magazines are never freed.
        if isRoomInUse {
            // A value that is said to be inert, and is not: its `deinit` has filled the magazine
            // again. The room is in use until the release that has claimed into it is done.
            unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: Int(Self.capacity)) { room in
                // Safe: the room is not empty, so it has an address.
                unsafe release(claimingInto: room.baseAddress!, handOver: handOver)
            }
        } else {
            unsafe owned.pointee.isReleasing = true
            unsafe release(claimingInto: claimed, handOver: handOver)
            unsafe owned.pointee.isReleasing = false
        }
        // Release: pairs with the acquire in MagazineReleases.wait(until:).
        releasesEnded.store(releasesEnded.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private var isRoomInUse: Bool {
        // Safe: magazines are never freed.
        return unsafe owned.pointee.isReleasing
    }

    private borrowing func release(claimingInto room: UnsafeMutablePointer<UInt>, handOver: (UInt) -> Void) {
        let count = unsafe claim(into: room)
        guard count > 0 else { return }
        // Safe, all: magazines and pools are never freed.
        unsafe boxes.pointee.empty()
        AsymmetricBarrier.heavy()
        var scan = FrameScan()
        unsafe owned.pointee.hasManyRecords = scan.recordCount > Self.mostRecords
        let boxType = Box.typeAddress
        var emptied = 0
        for index in 0..<count {
            // The claim has made the references this thread's.
            let reference = unsafe room[index]
            if mustKeep(reference, boxType, &scan) {
                handOver(reference)
            } else if BoxPool.empty(reference, boxType: boxType) {
                unsafe room[emptied] = reference
                emptied += 1
            } else {
                releaseReference(reference)
            }
        }
        unsafe boxes.pointee.keep(room, emptied)
        finished(count)
    }

    private borrowing func mustKeep(_ reference: UInt, _ boxType: UInt, _ scan: inout FrameScan) -> Bool {
        return scan.mustKeep(reference)
    }

    /// How many references are put in before the owner releases them.
    private static var limit: UInt {
        return capacity
    }
}
