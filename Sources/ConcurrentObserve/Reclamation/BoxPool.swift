// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Boxes that a thread's magazine has emptied, and that the thread takes for its next values.
///
/// The magazine's thread, the owner, adds them and takes them. When the owner has not used them for
/// a while, the reclamation thread frees them: an idle, blocked or exited thread keeps none. Until
/// then a thread keeps as many as a magazine has entries, of 256 bytes at most; before its next
/// magazine it frees what it has not taken. No value waits here: a box is emptied before it is
/// kept. (P14, P16)
///
/// That an address comes back with another value deceives no reader. A reader follows an address
/// only while it pins the box, and only if the version that it has found the address in is still the
/// present one after the pin is visible. Versions do not come back. So either the box was not retired
/// before, and the scan that precedes its reuse sees the pin; or the reader finds another version,
/// and loads again without having followed the address. A pin that stands for an earlier use of the
/// box keeps it from being reused again, for the moment until that reader looks.
@safe internal struct BoxPool: ~Copyable {
    /// How often the owner has begun and ended to use the boxes: odd while it does. Written by the
    /// owner alone.
    private let uses = Atomic<UInt>(0)

    /// How many boxes were added since the lists were last freed. Written where the lists are.
    private let count = Atomic<UInt>(0)

    /// Whether the sweeper is about to free the boxes: then the owner does without. Written by the
    /// sweeper alone, under the pass lock of the `ReclamationThread`.
    private let isSwept = Atomic<Bool>(false)

    /// For each size the address of the first box, or 0. The first of all stands for no size.
    private let lists: UnsafeMutablePointer<UInt>

    /// What the sweeper has seen. Guarded by the pass lock.
    private let swept: UnsafeMutablePointer<Swept>

    private struct Swept {
        /// `uses` at the last look, and how many looks have found the same.
        var usesSeen: UInt = 0
        var looks = 0
    }

    /// Boxes of as many sizes are kept, each 16 bytes larger than the one before.
    private static var sizes: Int { 16 }

    private init() {
        unsafe lists = .allocate(capacity: Self.sizes + 1)
        unsafe lists.initialize(repeating: 0, count: Self.sizes + 1)
        unsafe swept = .allocate(capacity: 1)
        unsafe swept.initialize(to: Swept())
    }

    /// An empty pool. It is never freed.
    static func allocate() -> UnsafeMutablePointer<BoxPool> {
        let pool = UnsafeMutablePointer<BoxPool>.allocate(capacity: 1)
        unsafe pool.initialize(to: BoxPool())
        return unsafe pool
    }

    /// Makes what boxes need. See `Fork.prepare()`.
    static func prepare() {
        let type = unsafe UnsafeRawPointer(bitPattern: unsafeBitCast(UInt?.self as Any.Type, to: UInt.self))!
        precondition(
            unsafe curcu_size(type) == MemoryLayout<UInt?>.size,
            "ConcurrentObserve: types are not laid out as boxes assume."
        )
        dropReference(Box.make(units: 1, type: 0, link: 0))
    }
}

// MARK: - The owner

extension BoxPool {
    /// A box for a value, to which the caller owns the only reference. Any thread; never waits.
    ///
    /// - Parameters:
    ///   - bytes: How many the value needs, and what aligns it.
    ///   - type: See `BoxHeader`.
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

    /// The address of a box that was kept; 0 if there is none.
    @inline(__always)
    private borrowing func takeKept(_ units: Int) -> UInt {
        // Safe, all: the pool is the caller's meanwhile.
        unsafe use { lists in
            let address = unsafe lists[units]
            if address == 0 { return 0 }
            unsafe lists[units] = Box.header(at: address).pointee.link
            return address
        }
    }

    /// Destroys the value in a box that no thread reads any more. Under no lock.
    ///
    /// - Parameters:
    ///   - reference: The caller's reference, the only one.
    ///   - boxType: `Box.typeAddress`.
    /// - Returns: False if it is no box, or none that is kept: then nothing was done.
    @inline(__always)
    static func empty(_ reference: UInt, boxType: UInt) -> Bool {
        // Safe: the caller's box.
        guard Box.isBox(reference, type: boxType), unsafe Box.header(at: reference).pointee.link != 0 else {
            return false
        }
        destroyValue(inBoxAt: reference)
        return true
    }

    /// Keeps emptied boxes. The owner alone, under no lock.
    ///
    /// Not one by one, as they are emptied: a value that breaks its promise takes boxes itself.
    ///
    /// - Parameters:
    ///   - boxes: The caller's references, the only ones.
    ///   - number: How many there are.
    borrowing func keep(_ boxes: UnsafeMutablePointer<UInt>, _ number: Int) {
        if number == 0 { return }
        // Safe, all: the pool is the caller's meanwhile, as the boxes are.
        let kept = unsafe use { lists in
            for index in 0..<number {
                let units = unsafe Int(bitPattern: Box.header(at: boxes[index]).pointee.link)
                unsafe Box.header(at: boxes[index]).pointee.link = lists[units]
                unsafe lists[units] = boxes[index]
            }
            // Relaxed, both: with the lists.
            count.store(count.load(ordering: .relaxed) &+ UInt(number), ordering: .relaxed)
            return 1
        }
        if kept == 0 { for index in 0..<number { unsafe dropReference(boxes[index]) } }
    }

    /// Frees what is kept. The owner alone. Runs no user code.
    borrowing func empty() {
        // Relaxed: the owner's own, or the sweeper's, which is emptying it.
        if count.load(ordering: .relaxed) == 0 { return }
        // Safe: the lists are the caller's meanwhile.
        _ = unsafe use { _ in
            free()
            return 0
        }
    }

    /// Calls `body` with the lists; without having called it returns 0 if the sweeper is at them.
    /// The owner alone.
    @inline(__always)
    private borrowing func use(_ body: (UnsafeMutablePointer<UInt>) -> UInt) -> UInt {
        // Relaxed, both: the owner's own; the store is ordered by the light barrier.
        let number = uses.load(ordering: .relaxed)
        uses.store(number &+ 1, ordering: .relaxed)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Acquire: pairs with the release in sweep(); what was freed is in no list any more. After the
        // store, by the light barrier: either this load sees that the sweeper is at the lists, or the
        // sweeper, after its heavy barrier, sees that the owner is.
        let isSwept = isSwept.load(ordering: .acquiring)
        let result = isSwept ? 0 : unsafe body(lists)
        // Release: pairs with the acquire in sweep(); the sweeper finds the lists as they are left.
        uses.store(number &+ 2, ordering: .releasing)
        return result
    }

    /// Frees all boxes. For the owner while it uses them, and for the sweeper.
    private borrowing func free() {
        for units in 1...Self.sizes {
            // Safe, all: the caller has the lists, and so the boxes in them.
            var address = unsafe lists[units]
            unsafe lists[units] = 0
            while address != 0 {
                let next = unsafe Box.header(at: address).pointee.link
                dropReference(address)
                address = next
            }
        }
        // Relaxed: with the lists.
        count.store(0, ordering: .relaxed)
    }
}

// MARK: - The sweeper

extension BoxPool {
    /// Whether no boxes are kept. It may say that some are after all were taken.
    var isEmpty: Bool {
        // Relaxed: a later look finds the rest.
        count.load(ordering: .relaxed) == 0
    }

    /// Claims the boxes, if three looks have found that the owner has not used them: then
    /// `AsymmetricBarrier.heavy()` and `sweep()` follow. Under the pass lock.
    ///
    /// - Returns: Whether it has.
    borrowing func claimIfUnused() -> Bool {
        if isEmpty {
            // Safe, here and below: pools are never freed.
            unsafe swept.pointee.looks = 0
            return false
        }
        // Relaxed: compared with what was seen before.
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

    /// Frees the boxes that were claimed, unless the owner has begun to use them. Under the pass lock.
    borrowing func sweep() {
        // Relaxed: the sweeper's own.
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

    /// In the child of a fork: what another thread kept is left where it is. The fork may have come
    /// while that thread took a box or added one, and has copied its memory page by page: the lists
    /// may be of different moments. (P18)
    borrowing func restartInChild() {
        unsafe lists.update(repeating: 0, count: Self.sizes + 1)
        // Relaxed, all: the child has one thread.
        count.store(0, ordering: .relaxed)
        uses.store(uses.load(ordering: .relaxed) & ~1, ordering: .relaxed)
    }
}

extension ReclamationThread {
    /// Frees the boxes that their threads have not used for a while. Under the pass lock.
    ///
    /// - Returns: Whether some are left.
    func sweepBoxes() -> Bool {
        var (areKept, areClaimed) = (false, false)
        // Safe, all: magazines and pools are never freed.
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forMagazine { magazine in
                let boxes = unsafe magazine.pointee.boxes
                if unsafe !boxes.pointee.isEmpty { areKept = true }
                if unsafe boxes.pointee.claimIfUnused() { areClaimed = true }
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
