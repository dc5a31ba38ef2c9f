// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation, as tables and frames refer to it: its mark, its content, its end.
///
/// It has two lifetimes. The content, in most cases the user's closure, is destroyed when the
/// observation has ended and no frame has the observer as `current`. The object itself, which has a
/// few words, lives until every table that contained it is freed, and every token and handle is
/// released: each of them owns a reference.
///
/// With the bytes that `malloc` adds, the object takes one cache line, and a walk reads the middle
/// of that line. If the table exceeds the processor's caches, one more line costs as much as a
/// notification. So state that only few observations need is in their `Extras`.
@safe @usableFromInline
internal class Observer: Retirable, @unchecked Sendable {
    // Unchecked: the core's lock guards `index` and the transitions of `mark`, except `finished`.
    // `content` is written before publication, and destroyed once, by `finish()`.

    /// The `ObserverMark`. Walkers load it without the lock.
    @usableFromInline final let mark: Atomic<UInt32>

    /// The index of the entry in the current table. Guarded by the core's lock.
    final var index: UInt32 = 0

    /// The observer's content for its source. The `ObserverKind` of its list says which type it
    /// has.
    final var content = ContentStorage()

    /// The address of the core, which lives as long as the observer (see `BiasedReferenceCount`).
    /// With the lowest bit set, it is the address of the `Extras`, which know the core. It changes
    /// to that once, under the core's lock. It is 0 while the observer is in the pool.
    final let home: Atomic<UInt>

    @usableFromInline
    init(core: borrowing RegistryCore, owner: WeakReference? = nil, _ marks: ObserverMark = []) {
        let entry = Self.enter(core)
        let bound: ObserverMark = owner == nil ? [] : .ownerBound
        mark = Atomic(entry.mark.rawValue | ObserverMark.beginning.rawValue | bound.rawValue | marks.rawValue)
        home = Atomic(entry.home)
        super.init()
        if let owner { addExtras(owner: owner) }
    }

    /// Makes an observer for the pool, without a core.
    override init() {
        mark = Atomic(ObserverMark.unused.rawValue)
        home = Atomic(0)
        super.init()
    }

    deinit { leaveCore() }

    /// The observer's address, which tables and frames store.
    @usableFromInline final var address: UInt {
        // Safe: an address only; a thread that follows it holds the observer by a pin or a
        // reference.
        unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    }

    /// The observer's mark, for bits that never change. For the other bits, the caller must hold
    /// the core's lock.
    @usableFromInline final var knownMark: ObserverMark {
        // Relaxed: constant, or written under the lock that the caller holds.
        ObserverMark(rawValue: mark.load(ordering: .relaxed))
    }

    /// Adds the observer to its source. The closure must be stored already. (P1)
    @usableFromInline
    final func register() { withCore { $0.append(self) } }

    // MARK: Retirable

    final override class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe recycle(reference) }
    final override var hold: Hold { .current(address) }
    final override var runsUserCode: Bool { true }
    final override var source: UInt { withCore { $0.source } }
    final override func reclaim() { finish() }
}
