// SPDX-License-Identifier: Apache-2.0

// A thread *retires* a reference when no new reader can reach its object. A *pass* of the
// reclamation thread scans the hazard pointers of all threads (in their frames), and releases what
// no frame pins. The comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

/// Empty boxes that one thread keeps for its next values. They were in the thread's magazine
/// before, and its release destroyed the values in them.
///
/// The owner, which is the magazine's thread, adds boxes and takes them. When the owner has not
/// used them for a while, the sweeper frees them: an idle, blocked or exited thread keeps none. The
/// sweeper is the thread that makes a pass, most often the reclamation thread. Until then a thread
/// keeps at most as many boxes as a magazine has entries, each for a value of up to 256 bytes.
/// Before the owner releases its next magazine, it frees the boxes that it has not taken. A box is
/// emptied before it is kept, so no value waits here to be destroyed. (P14, P16)
///
/// A box may be reused for another value at the same address. No reader takes the new value for the
/// old one. A reader finds an address together with a version, and pins the box. It follows the
/// address only if that version is still the present one after the pin is visible. No version is
/// used twice. Two cases are possible. If the box was not retired before the pin, the scan that
/// precedes its reuse sees the pin. Otherwise the reader finds another version, and loads again
/// without following the address. A pin that was set for an earlier use of the box only delays its
/// next reuse, until that reader has checked the version.
@safe internal struct BoxPool: ~Copyable {
    /// A count that the owner increments when it begins to use the lists, and when it ends. The
    /// count is odd while the owner uses them. Only the owner writes it.
    private let uses = Atomic<UInt>(0)

    /// The number of boxes added since the lists were last freed. Only the thread that is using the
    /// lists writes it: the owner or the sweeper.
    private let count = Atomic<UInt>(0)

    /// Whether the sweeper is about to free the boxes. While it is true, the owner does not use the
    /// lists. Only the sweeper writes it, under the pass lock of the `ReclamationThread`.
    private let isSwept = Atomic<Bool>(false)

    /// The address of the first box of each size, or 0. The index is the size in units of 16 bytes;
    /// index 0 is not used.
    private let lists: UnsafeMutablePointer<UInt>

    /// The sweeper's state. The pass lock guards it.
    private let swept: UnsafeMutablePointer<Swept>

    private struct Swept {
        /// The value of `uses` at the last pass.
        var usesSeen: UInt = 0
        /// The number of passes in a row that have found this value.
        var looks = 0
    }

    /// The number of sizes for which boxes are kept. Each size is 16 bytes larger than the previous
    /// size.
    private static var sizes: Int { 16 }

    private init() {
        unsafe lists = .allocate(capacity: Self.sizes + 1)
        unsafe lists.initialize(repeating: 0, count: Self.sizes + 1)
        unsafe swept = .allocate(capacity: 1)
        unsafe swept.initialize(to: Swept())
    }

    /// Allocates an empty pool. It is never freed.
    static func allocate() -> UnsafeMutablePointer<BoxPool> {
        let pool = UnsafeMutablePointer<BoxPool>.allocate(capacity: 1)
        unsafe pool.initialize(to: BoxPool())
        return unsafe pool
    }
}

// MARK: - The owner

extension BoxPool {
    /// Takes a kept box for a value, or allocates one, and returns its address. The caller owns the
    /// only reference. Any thread may call it. It never waits.
    ///
    /// - Parameters:
    ///   - bytes: The size that the value needs, with padding for its alignment.
    ///   - type: The value of `BoxHeader.type`.
    static func take(_ bytes: Int, type: UInt) -> UInt {
        let units = (bytes &+ 15) >> 4
        let isKept = units <= sizes
        // Safe, all: records, magazines and pools are never freed.
        if isKept, let pool = unsafe ThreadRecord.current.ownBoxes {
            let address = unsafe pool.pointee.takeKept(units)
            if _fastPath(address != 0) {
                unsafe Box.header(at: address).pointee = BoxHeader(type: type, link: UInt(bitPattern: units))
                return address
            }
        }
        return Box.make(units: units, type: type, link: isKept ? UInt(bitPattern: units) : 0)
    }

    /// Takes a kept box of this size and returns its address; 0 if there is none.
    @inline(__always)
    private borrowing func takeKept(_ units: Int) -> UInt {
        // Safe, all: only the caller uses the lists during `use`.
        unsafe use { lists in
            let address = unsafe lists[units]
            if address == 0 { return 0 }
            unsafe lists[units] = Box.header(at: address).pointee.link
            return address
        }
    }

    /// Destroys the value in a box that no thread reads any more, and does not free the box.
    /// (`empty()` frees the kept boxes.) The caller must hold no lock, and own the only reference.
    ///
    /// - Returns: False if boxes of this size are not kept. Then nothing was done.
    @inline(__always)
    static func empty(_ box: UInt) -> Bool {
        // Safe: the caller owns the reference.
        guard unsafe Box.header(at: box).pointee.link != 0 else { return false }
        destroyValue(inBoxAt: box)
        return true
    }

    /// Keeps emptied boxes, or frees them if the sweeper is using the lists. Only the owner may
    /// call it, under no lock.
    ///
    /// - Parameters:
    ///   - boxes: The addresses of the boxes. The caller owns the only references to them.
    ///   - number: The number of boxes.
    borrowing func keep(_ boxes: UnsafeMutablePointer<UInt>, _ number: Int) {
        if number == 0 { return }
        // Safe, all: only the caller uses the lists during `use`, and it owns the boxes.
        let kept = unsafe use { lists in
            for index in 0..<number {
                let units = unsafe Int(bitPattern: Box.header(at: boxes[index]).pointee.link)
                unsafe Box.header(at: boxes[index]).pointee.link = lists[units]
                unsafe lists[units] = boxes[index]
            }
            // Relaxed, both: written only while the caller has the lists.
            count.store(count.load(ordering: .relaxed) &+ UInt(number), ordering: .relaxed)
            return 1
        }
        if kept == 0 { for index in 0..<number { unsafe dropReference(boxes[index]) } }
    }

    /// Frees the kept boxes. Only the owner may call it. Runs no user code.
    borrowing func empty() {
        // Relaxed: written by the owner itself, or by the sweeper, which then frees the boxes
        // itself.
        if count.load(ordering: .relaxed) == 0 { return }
        // Safe: only the caller uses the lists during `use`.
        _ = unsafe use { _ in
            free()
            return 0
        }
    }

    /// Calls `body` with the lists, and returns its result. If the sweeper is using the lists,
    /// returns 0 and does not call `body`. Only the owner may call it.
    @inline(__always)
    private borrowing func use(_ body: (UnsafeMutablePointer<UInt>) -> UInt) -> UInt {
        // Relaxed, both: only the owner writes it. The light barrier orders the store.
        let number = uses.load(ordering: .relaxed)
        uses.store(number &+ 1, ordering: .relaxed)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Acquire: pairs with the release in sweep(); no list contains a box that was freed. The
        // light barrier orders this load after the store: either this load sees that the sweeper
        // has claimed the lists, or the sweeper, after its heavy barrier, sees that the owner uses
        // them.
        let isSwept = isSwept.load(ordering: .acquiring)
        let result = isSwept ? 0 : unsafe body(lists)
        // Release: pairs with the acquire in sweep(); the sweeper sees the lists as the owner
        // leaves them.
        uses.store(number &+ 2, ordering: .releasing)
        return result
    }

    /// Frees all boxes. The owner calls it inside `use`, and the sweeper calls it.
    private borrowing func free() {
        for units in 1...Self.sizes {
            // Safe, all: only the caller uses the lists and the boxes in them.
            var address = unsafe lists[units]
            unsafe lists[units] = 0
            while address != 0 {
                let next = unsafe Box.header(at: address).pointee.link
                dropReference(address)
                address = next
            }
        }
        // Relaxed: written only while the caller has the lists.
        count.store(0, ordering: .relaxed)
    }
}

// MARK: - The sweeper

extension BoxPool {
    /// Whether no boxes are kept. It can be false although all boxes were taken.
    var isEmpty: Bool {
        // Relaxed: a later pass finds the rest.
        count.load(ordering: .relaxed) == 0
    }

    /// Claims the boxes if three passes in a row have found that the owner has not used them. After
    /// a claim the caller executes `AsymmetricBarrier.heavy()` and calls `sweep()`. The caller must
    /// hold the pass lock.
    ///
    /// - Returns: Whether the boxes were claimed.
    borrowing func claimIfUnusedLocked() -> Bool {
        if isEmpty {
            // Safe, here and below: pools are never freed.
            unsafe swept.pointee.looks = 0
            return false
        }
        // Relaxed: only compared with the number at the last pass.
        let uses = uses.load(ordering: .relaxed)
        unsafe swept.pointee.looks = uses == swept.pointee.usesSeen ? swept.pointee.looks + 1 : 1
        unsafe swept.pointee.usesSeen = uses
        guard unsafe swept.pointee.looks >= Self.looks else { return false }
        // Relaxed: ordered by the heavy barrier.
        isSwept.store(true, ordering: .relaxed)
        return true
    }

    private static var looks: Int {
        return 3
    }

    /// Frees the boxes if they were claimed and the owner has not begun to use them. The caller
    /// must hold the pass lock.
    borrowing func sweep() {
        // Relaxed: only the sweeper writes it.
        guard isSwept.load(ordering: .relaxed) else { return }
        // Acquire: pairs with the release in use(_:).
        if isUnused(uses.load(ordering: .acquiring)) { free() }
        unsafe swept.pointee.looks = 0
        // Release: pairs with the acquire in use(_:).
        isSwept.store(false, ordering: .releasing)
    }

    private borrowing func isUnused(_ uses: UInt) -> Bool {
        return uses & 1 == 0
    }
}

extension ReclamationThread {
    /// Frees the boxes that their threads have not used for a while. The caller must hold the pass
    /// lock.
    ///
    /// - Returns: Whether some pool may still have boxes.
    func sweepBoxesLocked() -> Bool {
        var (areKept, areClaimed) = (false, false)
        // Safe, all: magazines and pools are never freed.
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                let boxes = unsafe magazine.pointee.boxes
                if unsafe !boxes.pointee.isEmpty { areKept = true }
                if unsafe boxes.pointee.claimIfUnusedLocked() { areClaimed = true }
            }
        }
        guard areClaimed else { return areKept }
        AsymmetricBarrier.heavy()
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { unsafe $0.pointee.boxes.pointee.sweep() }
        }
        return true
    }
}
