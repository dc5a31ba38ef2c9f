// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObservePlatform
public import Synchronization

extension ObserverList {
    /// Calls `call` with every observer in the list of `kind` that is live when the walk reaches
    /// it: its observation has not ended. (P1, P6, P15)
    ///
    /// A walk uses two hazard pointers of the thread's frame: `pin` for the table, and `current`
    /// for the observer that is being called. The read section lasts only from the load of the head
    /// to the store of `pin`. The walk itself, and all user code, comes after it. Once `pin` is
    /// stored, the table and its observers stay allocated. Once `current` is stored, the observer's
    /// closure stays alive if the mark is still active. The article Protocol and memory model
    /// describes the orderings. Where no fence is needed, these orderings only restrain the
    /// compiler.
    ///
    /// - Complexity: O(*n*) in the entries of the table. At least half of them are live, except
    ///   after recent cancellations.
    @inlinable @inline(__always)
    internal borrowing func walk<Content: ~Copyable>(
        _ kind: ObserverKind<Content>,
        _ call: (borrowing LentObserver<Content>) -> Void
    ) {
        unsafe withPinnedTable(of: kind.list) { contents, frame in
            let count = unsafe contents.pointee.loadCount()
            unsafe contents.pointee.visit(count, frame, fenced: AsymmetricBarrier.needsFences) { observer, _ in
                call(LentObserver(at: observer))
            }
        }
    }

    /// Calls `call` with the closure of every observer that is live when the walk reaches it. Reads
    /// nothing from the observers themselves. There are two loops, with fences and without. The
    /// loop without fences therefore need not check at every observer whether to execute a fence,
    /// and needs no register for that check.
    @inlinable @inline(__always)
    internal borrowing func walkClosures(_ call: (borrowing LentClosure) -> Void) {
        unsafe withPinnedTable(of: .callbacks) { contents, frame in
            let count = unsafe contents.pointee.loadCount()
            unsafe contents.pointee.visitClosures(count, frame, call)
        }
    }

    /// Calls `call` with the closure of every observer that is live when the walk reaches it, and
    /// whose observation began before `version`. If the table's `latestStart` is before `version`,
    /// one comparison is enough for all observers, and nothing is read from them. (P4)
    @inlinable @inline(__always)
    internal borrowing func walkClosures(before version: UInt64, _ call: (borrowing LentClosure) -> Void) {
        unsafe withPinnedTable(of: .callbacks) { contents, frame in
            let count = unsafe contents.pointee.loadCount()
            // Relaxed: after the count, whose acquire pairs with the release in publishCount(). It
            // is the latest start of these entries, or of these and later ones.
            if unsafe contents.pointee.latestStart.load(ordering: .relaxed) < version {
                return unsafe contents.pointee.visitClosures(count, frame, call)
            }
            unsafe contents.pointee.visit(count, frame, fenced: AsymmetricBarrier.needsFences) { observer, callback in
                guard VersionedObserver.receives(version, at: observer) else { return }
                unsafe call(LentClosure(observer: observer, callback))
            }
        }
    }

    /// Calls `body` with the current table of a list and with the frame that pins it. The table is
    /// pinned during the call.
    @inlinable @inline(__always)
    internal borrowing func withPinnedTable(
        of list: ObserverListIndex,
        _ body: (UnsafePointer<TableContents>, UnsafeMutablePointer<Frame>) -> Void
    ) {
        // Safe: the frame is this pass's until the call returns.
        unsafe ThreadRecord.withFrame { frame in
            let table = unsafe frame.pointee.pin.protectTable { loadHead(of: list) }
            guard table != 0 else { return }
            unsafe frame.pointee.countPass()
            // Safe: the pin keeps the table.
            let contents = unsafe UnsafePointer<TableContents>(bitPattern: table).unsafelyUnwrapped
            unsafe body(contents, frame)
        }
    }

    /// Returns the address of a list's current table; 0 if there is none.
    @inlinable @inline(__always)
    internal borrowing func loadHead(of list: ObserverListIndex) -> UInt {
        guard list == .callbacks else { return loadFurtherHead(of: list) }
        // Acquire: pairs with the release in publishHeadLocked().
        return head.load(ordering: .acquiring) & ~ListHints.mask
    }
}

extension TableContents {
    /// Returns the number of entries that a walk visits.
    @inlinable @inline(__always)
    borrowing func loadCount() -> Int {
        // Acquire: pairs with the release in publishCount(); entries below the count are complete.
        count.load(ordering: .acquiring)
    }

    /// Calls `call` with the closure of each observer among the first `count` entries that is live
    /// when the walk reaches it. `frame` must pin the table.
    @inlinable @inline(__always)
    borrowing func visitClosures(
        _ count: Int,
        _ frame: UnsafeMutablePointer<Frame>,
        _ call: (borrowing LentClosure) -> Void
    ) {
        if !AsymmetricBarrier.needsFences {
            unsafe visit(count, frame, fenced: false) { unsafe call(LentClosure(observer: $0, $1)) }
        } else {
            unsafe visit(count, frame, fenced: true) { unsafe call(LentClosure(observer: $0, $1)) }
        }
    }

    /// Calls `call` with every observer that is live when the walk reaches it, and with its
    /// closure.
    ///
    /// - Parameters:
    ///   - count: The number of entries to visit, from `loadCount`.
    ///   - frame: The frame of the walk. It must pin the table.
    ///   - fenced: Whether the barrier after each store to `current` needs a fence.
    @inlinable @inline(__always)
    borrowing func visit(
        _ count: Int,
        _ frame: UnsafeMutablePointer<Frame>,
        fenced: Bool,
        _ call: (_ observer: UInt, _ callback: UnsafePointer<ContentStorage>) -> Void
    ) {
        // By address, not by index: this needs fewer registers, so the frame's address stays in a
        // register across the calls.
        // Safe: the entries up to the count are in the pinned table; the end is compared, not
        // followed.
        let first = unsafe entry(0)
        let end = unsafe first + count
        var next = unsafe first
        while unsafe next < end {
            let entry = unsafe next
            unsafe next += 1
            // Relaxed: published by the acquire above. A hint: the mark is tested below.
            var observer = unsafe entry.pointee.word.load(ordering: .relaxed)
            if _slowPath(observer & TableEntry.Mark.all != 0) {
                if observer & TableEntry.Mark.ended != 0 { continue }
                observer &= ~TableEntry.Mark.all
            }
            // The store to `current` also ends the protection of the previous observer: a thread
            // that waits for the end of its callback stops waiting.
            let lent = unsafe frame.pointee.current.protect(observer, fenced: fenced) {
                unsafe entry.pointee.isActive
            }
            guard let lent else { continue }
            let callback = unsafe TableEntry.content(of: entry)
            unsafe call(lent, callback)
        }
    }
}

/// The closure of an observer, in an entry of a table. The thread's frame names the observer in
/// `current`, and pins the table.
@safe @usableFromInline
internal struct LentClosure: ~Copyable {
    @usableFromInline let observer: UInt
    @usableFromInline let callback: UnsafePointer<ContentStorage>

    @inlinable @inline(__always)
    init(observer: UInt, _ callback: UnsafePointer<ContentStorage>) {
        self.observer = observer
        unsafe self.callback = unsafe callback
    }

    @inlinable @inline(__always)
    borrowing func callAsFunction<Event>(_ event: Event) {
        // Safe: every closure is stored in the same way; the frame keeps the closure and the entry.
        unsafe UnsafeRawPointer(callback).assumingMemoryBound(to: Callback<Event>.self).pointee(event)
    }
}
