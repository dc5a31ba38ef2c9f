// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation, as tables and frames know it: its mark, what it holds, its end.
///
/// It has two lifetimes. What it holds, most often the user's closure, is destroyed when the
/// observation has ended and no frame has the observer as `current`. The object around it, a few
/// words, lives until every table that held it is freed, and every token and handle is released:
/// each of them owns a reference.
///
/// With what `malloc` adds it takes a cache line, and a walk reads the middle of that line: beyond
/// the processor's caches, one line more costs as much as a notification. So what few observations
/// have is elsewhere, in their `Extras`.
@safe @usableFromInline
internal class Observer: Retirable, @unchecked Sendable {
    // Unchecked: `index` and the transitions of `mark`, but for `finished`, are guarded by the
    // core's lock. `content` is written before publication, and destroyed once, by `finish()`.

    /// The `ObserverMark`. Loaded by walkers without the lock.
    @usableFromInline final let mark: Atomic<UInt32>

    /// The entry in the registry's current table. Guarded by the core's lock.
    final var index: UInt32 = 0

    /// What the observer holds for its source: of the type that the `ObserverKind` of its list
    /// says.
    final var content = ContentStorage()

    /// The address of the core, which lives as long as the observer (see `BiasedReferenceCount`).
    /// With the lowest bit set, the address of the `Extras`, which know the core: it becomes that
    /// once, under the core's lock. 0 while the observer is in the pool.
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

    /// An observer for the pool: of no core.
    override init() {
        mark = Atomic(ObserverMark.unused.rawValue)
        home = Atomic(0)
        super.init()
    }

    deinit { leaveCore() }

    /// The observer's address, as tables and frames hold it.
    @usableFromInline final var address: UInt {
        // Safe: an address only; a thread that follows it holds the observer through a pin or a
        // reference.
        unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    }

    /// What the observer is. For bits that never change, and under the core's lock for the others.
    @usableFromInline final var knownMark: ObserverMark {
        // Relaxed: constant, or written under the lock that the caller holds.
        ObserverMark(rawValue: mark.load(ordering: .relaxed))
    }

    /// Adds the observer, complete with its closure, to those of its source. (P1)
    @usableFromInline
    final func register() { withCore { $0.append(self) } }

    // MARK: Retirable

    final override class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe recycle(reference) }
    final override var hold: Hold { .current(address) }
    final override var runsUserCode: Bool { true }
    final override var source: UInt { withCore { $0.source } }
    final override func reclaim() { finish() }

    final override func abandonInChild() {
        // Release: pairs with the acquire in isFinished. Relaxed: the child has one thread. A
        // thread that waits there waits no longer.
        mark.store(mark.load(ordering: .relaxed) | ObserverMark.finished.rawValue, ordering: .releasing)
    }
}
