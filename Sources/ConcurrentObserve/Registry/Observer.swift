// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation. Its *mark* says whether it has ended. Its *content* is the closure or the
/// object that the source calls. Tables and frames refer to an observer by its address. A thread
/// has a `Frame` for each notification that it is making; the frame's hazard pointer `current`
/// names the observer that is being called.
///
/// An observer has two lifetimes. The content, in most cases the user's closure, is destroyed when
/// the observation has ended and no frame names the observer in `current`. The object itself, which
/// has a few words, lives until every table that contained it is freed, and every token and handle
/// is released: each of them owns a reference.
///
/// With the bytes that `malloc` adds, the object takes one cache line, and a walk over a table
/// reads the middle of that line. If the table exceeds the processor's caches, a second cache line
/// would cost as much time as calling the observer. State that only few observations need is
/// therefore in their `Extras`.
@safe @usableFromInline
internal class Observer: Retirable, @unchecked Sendable {
    // Unchecked: the core's lock guards `index`, and the changes of `mark`, except those that are
    // atomic operations for one bit. `content` is written before publication, and destroyed once,
    // by `finish()`.

    /// The raw value of the `ObserverMark`. A thread that walks a table loads it without the lock.
    @usableFromInline final let mark: Atomic<UInt32>

    /// The index of the observer's entry in the current table. The core's lock guards it.
    final var index: UInt32 = 0

    /// The closure or the object that the source calls. The `ObserverKind` of the observer's list
    /// says which type it has.
    final var content = ContentStorage()

    /// The address of the core (`RegistryCore`), which lives as long as the observer (see
    /// `BiasedReferenceCount`). If the lowest bit is set, the other bits are the address of the
    /// `Extras`, which have the core's address. The word changes from the core to the extras at
    /// most once, under the core's lock. It is 0 while the observer is in the pool.
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

    /// The observer's mark. A caller that does not hold the core's lock may use only the bits that
    /// no longer change.
    @usableFromInline final var knownMark: ObserverMark {
        // Relaxed: the bits no longer change, or the caller holds the lock under which they change.
        ObserverMark(rawValue: mark.load(ordering: .relaxed))
    }

    /// Adds the observer to its source. The closure must be stored already. (P1)
    ///
    /// - Parameter value: The type of the source's events; nil if the source is a list that only
    ///   the library uses.
    @usableFromInline
    final func register(of value: (any Sendable.Type)? = nil) { withCore { $0.append(self, of: value) } }

    // MARK: Retirable

    final override class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe recycle(reference) }
    final override var hold: Hold { .current(address) }
    final override var runsUserCode: Bool { true }
    final override var sourceAddress: UInt { withCore { $0.sourceAddress } }
    final override func reclaim() { finish() }
}

extension Observer {
    /// Counts a new observer in the core. If the source is gone, retains the core for the observer
    /// instead. Returns the initial values of the observer's `mark` and `home`.
    static func enter(_ core: borrowing RegistryCore) -> (mark: ObserverMark, home: UInt) {
        // Safe: the caller holds the core. Afterwards either the `BiasedReferenceCount` has counted
        // the observer, or the core is retained here.
        let countedCore = unsafe Unmanaged.passUnretained(copy core)
        let home = unsafe UInt(bitPattern: countedCore.toOpaque())
        if core.references.retain() { return ([], home) }
        _ = unsafe countedCore.retain()
        return (.ownsCore, home)
    }

    /// Counts in the core that the observer is gone, and releases the observer's extras. Must be
    /// called once each time that the observer has entered a core, by the thread that has the last
    /// reference to the observer.
    final func leaveCore() {
        // Relaxed: no other thread has the observer.
        if home.load(ordering: .relaxed) == 0 { return }
        let (core, extras) = unsafe (unmanagedCore, extras)
        // Safe: the core lives until its `BiasedReferenceCount` has counted that this observer is
        // gone.
        if knownMark.contains(.ownsCore) || withCore({ $0.references.release() }) { unsafe core.release() }
        // Relaxed: no other thread has the observer.
        home.store(0, ordering: .relaxed)
        // Safe: the reference that `addExtras` took.
        if let extras { unsafe Unmanaged.passUnretained(extras).release() }
    }

    final var unmanagedCore: Unmanaged<RegistryCore> {
        // Only one load: `addExtras` may run at the same time.
        let home = loadHome()
        // Safe, both: the observer owns a reference to its extras; untagged, the word is the core's
        // address.
        if home & 1 != 0 { return unsafe Extras.at(home).unmanagedCore }
        return unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: home).unsafelyUnwrapped)
    }

    final func loadHome() -> UInt {
        // Acquire: pairs with the release in addExtras(owner:).
        return home.load(ordering: .acquiring)
    }

    /// The core of the observer's source: the state that the source shares with its observations.
    final var core: RegistryCore {
        // Safe: it lives as long as the observer, which the caller holds.
        unsafe unmanagedCore.takeUnretainedValue()
    }

    /// Calls `body` with the core, and counts no reference.
    @inline(__always)
    final func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {
        // Safe: it lives as long as the observer, which the caller holds.
        unsafe unmanagedCore._withUnsafeGuaranteedRef { body($0) }
    }
}

/// An observation of a property or of a path. It receives the changes that come after its start
/// version.
@usableFromInline
internal final class VersionedObserver: Observer, @unchecked Sendable {
    // Unchecked: written before publication.

    /// The version of the source when the observation began. It does not change after the observer
    /// is published.
    @usableFromInline var since: UInt64 = 0

    @usableFromInline
    override init(core: borrowing RegistryCore, owner: WeakReference? = nil, _ marks: ObserverMark) {
        super.init(core: core, owner: owner, marks.union(.versioned))
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &since) { UInt(bitPattern: $0) } == address + UInt(Self.sinceOffset),
            "an observer's layout is not the one that the walk reads"
        )
    }

    /// The distance in bytes from an observer's address to `since`.
    @usableFromInline static var sinceOffset: Int {
        56
    }

    /// Returns the version of the source when the observation at `address` began.
    @inlinable @inline(__always)
    static func since(at address: UInt) -> UInt64 {
        assert(mark(at: address).contains(.versioned), "an observer of a registry has no version")
        // Safe: the pinned table keeps every observer that it contains; the version is constant.
        return unsafe UnsafePointer<UInt64>(bitPattern: address &+ UInt(sinceOffset)).unsafelyUnwrapped.pointee
    }

    /// Whether the observer at `address` receives the change to `version`: its observation must
    /// have begun at an earlier version.
    @inlinable @inline(__always)
    static func receives(_ version: UInt64, at address: UInt) -> Bool {
        return since(at: address) < version
    }
}
