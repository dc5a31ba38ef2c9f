// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation, as tables and frames know it: its mark, its closure, its end.
///
/// Two lifetimes meet here. The closure is destroyed when the observation has ended and no frame has it as `current`. The
/// object around it, a few words, lives until every table that held it is freed, and tokens and handles have let go: each
/// of them owns a reference.
///
/// With what `malloc` adds it takes a cache line, of which a walk reads the middle: beyond the caches, a line more is what a notification
/// costs. So whatever few observations have is elsewhere.
@safe @usableFromInline
internal class Observer: Retirable, @unchecked Sendable {
    // Unchecked: `index` and the transitions of `state`, but for `finished`, are guarded by the core's lock; `callback` is written
    // before publication and destroyed by whoever `finish` belongs to, once.

    /// `ObserverState` bits. Loaded by walkers without the lock.
    @usableFromInline final let state: Atomic<UInt32>

    /// The entry in the registry's current table. Guarded by the core's lock.
    final var index: UInt32 = 0

    /// The closure: a `Callback<Event>`.
    final var callback = CallbackStorage()

    /// The address of the core, which is lent for as long as the observer exists (see `CoreLife`). With the lowest bit set, that of the
    /// `Extras`, which know the core: it becomes that once, under the core's lock. 0 while nobody has the observer.
    final let home: Atomic<UInt>

    #if INSTRUMENTED
    /// Room for a seeded bug.
    @usableFromInline final var note: UInt = 0
    #endif

    @usableFromInline
    init(core: borrowing RegistryCore, owner: WeakReference? = nil, hears: UInt32 = 0) {
        let entry = Self.enter(core)
        state = Atomic(
            entry.state | ObserverState.active | (owner == nil ? 0 : ObserverState.ownerBound) | hears
        )
        home = Atomic(entry.home)
        super.init()
        if let owner { addExtras(owner: owner) }
    }

    /// As `init` without more, for an observer that was used before; nil if none was kept.
    static func reused(core: borrowing RegistryCore) -> Observer? {
        guard let spare = ObserverPool.take() else { return nil }
        // Safe: nothing but observers is kept.
        let observer = unsafe unsafeDowncast(spare.take(), to: Observer.self)
        observer.renew(core: core)
        return observer
    }

    private final func renew(core: borrowing RegistryCore) {
        let entry = Self.enter(core)
        index = 0
        // Relaxed, both: published with the observer.
        state.store(entry.state | ObserverState.active, ordering: .relaxed)
        home.store(entry.home, ordering: .relaxed)
    }

    /// Borrows a core for an observer. Returns what its mark and its home begin with.
    private static func enter(_ core: borrowing RegistryCore) -> (state: UInt32, home: UInt) {
        // Safe: the caller holds the core; then it is lent, or retained here.
        let lentCore = unsafe Unmanaged.passUnretained(copy core)
        let home = unsafe UInt(bitPattern: lentCore.toOpaque())
        if core.life.lend() { return (0, home) }
        _ = unsafe lentCore.retain()
        return (ObserverState.ownsCore, home)
    }

    deinit { leaveCore() }

    /// Gives back the core, and everything else that the observer has. Once for each core; by whoever has the last reference.
    final func leaveCore() {
        // Relaxed: nobody else has the observer.
        if home.load(ordering: .relaxed) == 0 { return }
        let (lentCore, extras) = unsafe (lentCore, extras)
        // Relaxed: nobody else has the observer. Safe: the core lives until what was lent is given back.
        if state.load(ordering: .relaxed) & ObserverState.ownsCore != 0 || withCore({ $0.life.giveBack() }) {
            unsafe lentCore.release()
        }
        home.store(0, ordering: .relaxed)
        // Safe: the reference that `addExtras` took.
        if let extras { unsafe Unmanaged.passUnretained(extras).release() }
    }

    final var lentCore: Unmanaged<RegistryCore> {
        // One load decides: `addExtras` may run meanwhile.
        let home = loadHome()
        // Safe, both: the observer owns a reference to its extras; untagged, the word is the core's address.
        if home & 1 != 0 { return unsafe Extras.at(home).lentCore }
        return unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: home).unsafelyUnwrapped)
    }

    final func loadHome() -> UInt {
        #if INSTRUMENTED
        if mutant(.aCoreIsLoadedInTwoSteps) { return loadHomeTwice() }
        #endif
        // Acquire: pairs with the release in addExtras(owner:).
        return home.load(ordering: .acquiring)
    }

    /// The part of the source that it shares with its observations.
    final var core: RegistryCore {
        // Safe: lent until the observer is gone, and the caller holds the observer.
        unsafe lentCore.takeUnretainedValue()
    }

    /// Calls `body` with the core, of which no reference is counted.
    @inline(__always)
    final func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {
        // Safe: lent until the observer is gone, and the caller holds the observer.
        unsafe lentCore._withUnsafeGuaranteedRef { body($0) }
    }

    /// The observer's address, as tables and frames hold it.
    @usableFromInline final var address: UInt {
        // Safe: an address only; whoever follows it holds the observer through a pin or a reference.
        unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    }

    /// Adds the observer, complete with its closure, to those of its source. (P1)
    @usableFromInline
    final func register() { withCore { $0.append(self) } }

    // MARK: Retirable

    /// If it was the last reference, the observer is kept for another observation.
    final override class func recycleOrRelease(_ reference: Unmanaged<Retirable>) {
        // Safe: the caller's reference, which is given up here; every instance of this class is an observer.
        var observer = unsafe unsafeDowncast(reference.takeRetainedValue(), to: Observer.self)
        guard isUnique(&observer),
            observer.isFinished, !observer.isVersioned
        else { return }
        // Acquire: pairs with the releases in which the others have given up their references.
        atomicMemoryFence(ordering: .acquiring)
        observer.leaveCore()
        let kept = unsafe Unmanaged<Retirable>.passRetained(consume observer)
        if unsafe !ObserverPool.keep(RetiredItem(at: UInt(bitPattern: kept.toOpaque()))) { unsafe kept.release() }
    }

    private static func isUnique(_ observer: inout Observer) -> Bool {
        #if INSTRUMENTED
        if mutant(.anObserverIsRecycledTooEarly) { return true }
        #endif
        return isKnownUniquelyReferenced(&observer)
    }

    final override var hold: Hold { .current(address) }
    final override var runsUserCode: Bool { true }
    final override var source: UInt { withCore { $0.source } }
    final override func reclaim() { finish() }

    final override func abandonInChild() {
        // Release: pairs with the acquire in isFinished. Relaxed: the child has one thread. Whoever waits there waits no longer.
        state.store(state.load(ordering: .relaxed) | ObserverState.finished, ordering: .releasing)
    }
}
