// SPDX-License-Identifier: Apache-2.0

public import Synchronization

extension ObserverList {
    /// Whether a walk might find somebody.
    @inlinable @inline(__always)
    internal var isPossiblyObserved: Bool {
        // Relaxed: a hint. Whoever registered before this notification began is seen, because that happened before.
        head.load(ordering: .relaxed) != 0
    }

    /// Calls `call` with the address of every observer that is live at its turn: the notification path. (P1, P6, P15)
    ///
    /// The pinned read: the read section lasts from the load of the head to the store of the pin; the walk itself, and
    /// with it all user code, is outside. From the pin on, the table and its observers stay allocated; from `current` on, with
    /// the mark still set, so does the observer's closure. The article Protocol has the orderings; for the walker they cost nothing but
    /// the compiler's restraint where membarrier is in use.
    ///
    /// - Complexity: O(*n*) in the entries of the table, of which at least half are live, but for recent cancellations.
    @inlinable @inline(__always)
    internal borrowing func walk(_ call: (_ observer: UInt) -> Void) {
        // Safe: records are never freed; the frame is this pass's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer { unsafe record.leaveFrame() }

        ReadSection.enter()
        // Acquire: pairs with the release that published the table.
        let table = head.load(ordering: .acquiring)
        guard table != 0 else { return ReadSection.leave() }
        if mutant("pin is stored after the read section") { ReadSection.leave() }
        inject("walk.head")
        // Relaxed: whoever frees the table waits for this section, which makes the pin visible.
        unsafe frame.pointee.pin.store(table, ordering: .relaxed)
        if !mutant("pin is stored after the read section") { ReadSection.leave() }
        inject("walk.pinned")

        if mutant("a notification allocates") { misbehave(allocates: true) }
        if mutant("a notification takes a lock") { misbehave(allocates: false) }

        // Relaxed: a statistic with one writer.
        unsafe frame.pointee.passes.store(frame.pointee.passes.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        // Safe: the pin keeps the table.
        let contents = unsafe UnsafePointer<TableContents>(bitPattern: table).unsafelyUnwrapped
        // Acquire: pairs with the release in append(_:); entries below the count are complete.
        let count = unsafe contents.pointee.count.load(ordering: .acquiring)
        inject("walk.count")
        if mutant("pin is cleared before the walk ends") { unsafe frame.pointee.pin.store(0, ordering: .releasing) }

        let fenced = !AsymmetricBarrier.usesMembarrier
        // By address, not by index: fewer registers, so that the frame's address stays in one across the calls.
        // Safe: the entries up to the count lie in the pinned table; the end is compared, not followed.
        let first = unsafe contents.pointee.entry(0)
        let end = unsafe first + count
        var next = unsafe first
        while unsafe next < end {
            let entry = unsafe next
            unsafe next += 1
            // Relaxed: published by the acquire above; a buried entry that is missed is stopped by its mark.
            var observer = unsafe entry.pointee.load(ordering: .relaxed)
            if observer & 1 != 0 { continue }
            inject("walk.entry")
            if mutant("mark is tested before current is stored"), !Observer.isActive(at: observer) { continue }
            inject("walk.marked")
            // Release: ends the previous callback for whoever waits for it; pairs with the acquire in the scans.
            unsafe frame.pointee.current.store(observer, ordering: .releasing)
            // Between the store of current and the load of the mark: pairs with AsymmetricBarrier.heavy().
            observer = AsymmetricBarrier.light(fenced: fenced, observer)
            inject("walk.current")
            guard
                mutant("mark is tested before current is stored") || mutant("mark is not tested")
                    || Observer.isActive(at: observer)
            else { continue }
            if mutant("a delivery is dropped"), unsafe (entry - first) & 1023 == 3 { continue }
            if mutant("a long walk ends early"), unsafe entry - first == 64 { break }
            #if INSTRUMENTED
            // The first few are heard by all.
            if mutant("an observer hears its own thread alone"), unsafe entry - first >= 8,
                Observer.at(observer).note != UInt(bitPattern: record)
            {
                continue
            }
            #endif
            if mutant("current is cleared before the callback") {
                unsafe frame.pointee.current.store(0, ordering: .releasing)
            }
            call(observer)
            if mutant("a delivery is repeated"), unsafe (entry - first) & 1023 == 3 { call(observer) }
            inject("walk.called")
        }
        unsafe checkWalkedTable(contents)
        unsafe frame.pointee.clear()
        if mutant("inner pass clears the outer pin") {
            unsafe record.inlineFrames.pointee.pin.store(0, ordering: .releasing)
        }
        inject("walk.cleared")
    }
}
