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
    private final var callback = CallbackStorage()

    /// The address of the core, which is lent for as long as the observer exists (see `CoreLife`). With the lowest bit set, that of the
    /// `Extras`, which know the core: it becomes that once, under the core's lock. 0 while nobody has the observer.
    private final let home: Atomic<UInt>

    #if INSTRUMENTED
    /// Room for a seeded bug.
    @usableFromInline final var note: UInt = 0

    /// Notes who registers.
    final func noteThread() { note = unsafe UInt(bitPattern: ThreadRecord.current) }
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

    private final var lentCore: Unmanaged<RegistryCore> {
        // One load decides: `addExtras` may run meanwhile. Acquire: pairs with the release there.
        var home = home.load(ordering: .acquiring)
        // Safe, both: the observer owns a reference to its extras; untagged, the word is the core's address.
        if home & 1 != 0 { return unsafe Extras.at(home).lentCore }
        if mutant(.aCoreIsLookedForInTwoSteps) {
            inject("observer.home")
            // Relaxed: the bug is that these are two steps.
            home = self.home.load(ordering: .relaxed)
        }
        return unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: home).unsafelyUnwrapped)
    }

    /// The part of the source that it shares with its observations.
    final var core: RegistryCore {
        // Safe: lent until the observer is gone, and whoever asks holds the observer.
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
        guard isKnownUniquelyReferenced(&observer) || mutant(.anObserverIsUsedAgainTooEarly),
            observer.isFinished, !observer.isVersioned
        else { return }
        // Acquire: pairs with the releases in which the others have given up their references.
        atomicMemoryFence(ordering: .acquiring)
        observer.leaveCore()
        let kept = unsafe Unmanaged<Retirable>.passRetained(consume observer)
        if unsafe !ObserverPool.keep(RetiredItem(at: UInt(bitPattern: kept.toOpaque()))) { unsafe kept.release() }
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

/// The bits of an observer's mark.
@usableFromInline
internal enum ObserverState {
    /// The observation has not ended.
    @usableFromInline static var active: UInt32 { 1 }
    /// The closure is destroyed.
    @usableFromInline static var finished: UInt32 { 2 }
    /// The observation ends with its owner.
    @usableFromInline static var ownerBound: UInt32 { 4 }
    /// The observer is told of a change before it is made, too.
    @usableFromInline static var hearsPrior: UInt32 { 8 }
    /// The observer is the library's own: it wires a path.
    @usableFromInline static var isWiring: UInt32 { 64 }
    /// It wires a path that goes on: what it leads to changes with its property.
    @usableFromInline static var isLink: UInt32 { 128 }
    /// It posts changes to a mailbox, in the order of their versions: what it is called with is a `Posting`.
    @usableFromInline static var isOrdered: UInt32 { 256 }
    /// What it posts is delivered on the thread that posts it: in its turn, among the inline callbacks.
    @usableFromInline static var isSerial: UInt32 { 512 }
    /// Somebody wants to be told of the end.
    static var hasListeners: UInt32 { 1024 }
    /// It is a `VersionedObserver`.
    @usableFromInline static var isVersioned: UInt32 { 4096 }
    /// The source was gone when the observer was made: it owns a reference to the core.
    static var ownsCore: UInt32 { 2048 }
    /// Where the `ObservationEnd` stands.
    @usableFromInline static var endShift: UInt32 { 16 }
}

// MARK: - The closure

extension Observer {
    /// Bytes from an observer's address to its closure: object header, `link`, `state`, `index`.
    ///
    /// The walk adds it to an address and borrows what is there; `initialize` checks it.
    @usableFromInline static var callbackOffset: Int { 32 }

    /// Bytes from an observer's address to its mark.
    @usableFromInline static var stateOffset: Int { 24 }

    /// Stores the closure. Once, before the observer is published.
    @inlinable
    func setCallback<Event>(_ callback: consuming Callback<Event>) {
        checkLayout()
        // Safe: the storage is this object's, holds nothing yet and has room for any closure.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.callbackOffset))!
        unsafe storage.initializeMemory(as: Callback<Event>.self, to: callback)
    }

    @usableFromInline
    func checkLayout() {
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &callback) { UInt(bitPattern: $0) } == address + UInt(Self.callbackOffset)
                && withUnsafePointer(to: state) { UInt(bitPattern: $0) } == address + UInt(Self.stateOffset),
            "an observer's layout is not the one that the walk reads"
        )
    }

    /// The closure's words, for a table: whoever uses them sees to it that the observation goes on.
    final var borrowedCallback: CallbackStorage {
        // Safe: this object's own; the words were written through a pointer, so they are read through one.
        unsafe UnsafePointer<CallbackStorage>(bitPattern: address + UInt(Self.callbackOffset))!.pointee
    }

    /// Destroys the closure and whatever it alone keeps alive: user code may run. Once, when nobody can call it any more.
    private func destroyCallback() {
        exploredDestruction(ofObserver: address)
        // Safe: nobody calls it any more; every closure is destroyed alike, by releasing its context.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.callbackOffset))!
        unsafe storage.assumingMemoryBound(to: Callback<Void>.self).deinitialize(count: 1)
    }

    /// Calls the closure of the observer at `address`.
    @inlinable @inline(__always)
    static func call<Event>(at address: UInt, with event: Event) {
        exploredCall(address)
        defer { exploredReturn(address) }
        // Safe: the frame that has it as current keeps the closure alive, the pin the observer.
        unsafe UnsafePointer<Callback<Event>>(bitPattern: address &+ UInt(callbackOffset))
            .unsafelyUnwrapped.pointee(event)
    }

    /// The mark of the observer at `address`.
    @inlinable @inline(__always)
    static func state(at address: UInt) -> UInt32 {
        // Safe: the pinned table keeps every observer that it holds.
        let state = unsafe UnsafePointer<Atomic<UInt32>>(bitPattern: address &+ UInt(stateOffset)).unsafelyUnwrapped
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made the closure visible.
        return unsafe state.pointee.load(ordering: .relaxed)
    }

    /// Whether the observer at `address` has not ended.
    @inlinable @inline(__always)
    static func isActive(at address: UInt) -> Bool { state(at: address) & ObserverState.active != 0 }

    /// Whether the observation at `address` has ended, and not with its source.
    @inlinable @inline(__always)
    static func isRemoved(at address: UInt) -> Bool {
        let state = state(at: address)
        return state & ObserverState.active == 0
            && state >> ObserverState.endShift != ObservationEnd.sourceDeleted.rawValue
    }

    /// The observer at `address`, whose frame has it as current.
    @usableFromInline
    static func at(_ address: UInt) -> Observer {
        // Safe: the pinned table keeps every observer that it holds.
        unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            .takeUnretainedValue()
    }
}

// MARK: - The end

extension Observer {
    /// Whether the mark is set: no look at the owner.
    var isMarkedActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        state.load(ordering: .acquiring) & ObserverState.active != 0
    }

    /// Whether the observation goes on. Notices a dead owner. (P13)
    var isActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        let state = state.load(ordering: .acquiring)
        guard state & ObserverState.active != 0 else { return mutant(.anEndedTokenSaysItIsActive) }
        guard state & ObserverState.ownerBound != 0, hasLostOwner else { return true }
        end(.ownerDeleted)
        return false
    }

    /// Whether it is a `VersionedObserver`.
    final var isVersioned: Bool {
        // Relaxed: the bit never changes.
        state.load(ordering: .relaxed) & ObserverState.isVersioned != 0
    }

    /// Whether the closure is destroyed.
    var isFinished: Bool {
        // Acquire: pairs with the release in finish(); the destruction happens before.
        state.load(ordering: .acquiring) & ObserverState.finished != 0
    }

    /// Ends the observation and hands its closure over for destruction. True if this call ended it. (P8)
    @discardableResult @usableFromInline
    func end(_ reason: ObservationEnd) -> Bool {
        // A token that is dropped after its cancellation needs no lock.
        guard isMarkedActive else { return false }
        // Decide under the lock …
        guard withCore({ $0.unlink(self, reason) }) else { return false }
        if mutant(.anEndIsToldBeforeTheLastCall) { tellEnd() }
        if mutant(.aClosureIsDestroyedByItsCanceller), finishUnlessRunning() { return true }
        // … act outside it: the closure is destroyed elsewhere, the caller may hold a lock that a capture's deinit takes. (P5)
        ThreadRecord.retire(self)
        return true
    }

    /// Marks the end. Under the core's lock.
    func markEnded(_ reason: ObservationEnd) {
        // Release: pairs with the acquires in isActive and isMarkedActive. Walkers need none: whoever destroys the closure executes
        // the heavy barrier between this and its look at the frames. The load is relaxed: under the lock.
        state.store(
            state.load(ordering: .relaxed) & ~ObserverState.active | reason.rawValue << ObserverState.endShift,
            ordering: .releasing
        )
        ThreadRecord.countLiveObserver(-1)
    }

    /// Destroys the closure, then tells whoever waits for the end. Once, when no frame has the observer as current, and
    /// marked as inside a callback, since both run user code.
    func finish() {
        if mutant(.closureIsDestroyedUnderTheLock) {
            core.lock.withLock { destroyCallback() }
        } else {
            destroyCallback()
        }
        if mutant(.closureIsDestroyedTwice) { destroyCallback() }
        // Nobody frees it.
        if mutant(.anEndLeavesMemoryBehind) {
            unsafe UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: MemoryLayout<UInt>.alignment)
                .initializeMemory(as: UInt.self, repeating: UInt(address), count: 512)
        }
        var early: UInt32?
        if mutant(.aLateListenerIsOverlooked) {
            // Relaxed: the bug is that these are two steps.
            early = state.load(ordering: .relaxed)
            inject("finish.mark")
        }
        // Release: pairs with the acquires in isFinished and whenFinished(_:). Of this step and that of whenFinished(_:), the later one
        // sees the other's bit. Listeners are found under the source's lock: only if there are any, since churn on the source's threads
        // would make it a hot one.
        let before = state.bitwiseOr(ObserverState.finished, ordering: .releasing).oldValue
        guard (early ?? before) & ObserverState.hasListeners != 0 else { return }
        tellEnd()
    }

    /// Calls the listeners for the end, which has come.
    func tellEnd() {
        // Relaxed: the caller has ended the observation, or comes after whoever did.
        let end = ObservationEnd(rawValue: state.load(ordering: .relaxed) >> ObserverState.endShift)!
        let listeners = core.lock.withLock { () -> [OnEnd] in
            let listeners = extras?.onEnd ?? []
            extras?.onEnd = []
            return listeners
        }
        for listener in listeners { listener(mutant(.anEndHasAnotherReason) ? .ownerDeleted : end) }
        if mutant(.endIsToldTwice) { for listener in listeners { listener(end) } }
    }

    typealias OnEnd = @Sendable (ObservationEnd) -> Void

    /// Calls `body` once the closure is destroyed: later, or, if it is, never, returning the reason.
    func whenFinished(_ body: @escaping OnEnd) -> ObservationEnd? {
        core.lock.withLock {
            // Acquire: pairs with the release in finish(), which takes the lock for the listeners if it comes later.
            let state = state.bitwiseOr(ObserverState.hasListeners, ordering: .acquiring).oldValue
            if state & ObserverState.finished != 0 { return ObservationEnd(rawValue: state >> ObserverState.endShift) }
            withExtras { $0.onEnd.append(body) }
            return nil
        }
    }
}

// MARK: - Extras

extension Observer {
    /// What few observations have: an owner, listeners for the end.
    @safe final class Extras {
        let lentCore: Unmanaged<RegistryCore>
        let owner: WeakReference?
        var onEnd: [OnEnd] = []
        /// What has become of what the observer was sent, if it does not hear it inline.
        var deliveryCounter: DeliveryCounter?
        /// What the observer has still to hear, if it does not hear it inline; nil after the end.
        var mailbox: (any FlushableMailbox)?
        /// The core of the path that begins here, if the observer wires the first step of one.
        var path: RegistryCore?

        init(lentCore: Unmanaged<RegistryCore>, owner: WeakReference?) {
            unsafe self.lentCore = unsafe lentCore
            self.owner = owner
        }

        /// Those that a tagged `home` names.
        static func at(_ home: UInt) -> Extras {
            // Safe: the observer owns a reference, and whoever asks holds the observer.
            unsafe Unmanaged<Extras>.fromOpaque(UnsafeRawPointer(bitPattern: home & ~1).unsafelyUnwrapped)
                .takeUnretainedValue()
        }
    }

    /// Guarded by the core's lock, but for `lentCore`.
    private final var extras: Extras? {
        // Acquire: pairs with the release in addExtras(owner:).
        let home = home.load(ordering: .acquiring)
        return home & 1 == 0 ? nil : Extras.at(home)
    }

    /// Under the core's lock, or before anybody else has the observer. Once.
    @discardableResult
    private final func addExtras(owner: WeakReference?) -> Extras {
        let extras = unsafe Extras(lentCore: lentCore, owner: owner)
        // Safe: the reference is given up with the observer. Release: pairs with the acquires in extras and lentCore.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
        home.store(address | 1, ordering: .releasing)
        return extras
    }

    var deliveryCounter: DeliveryCounter? {
        get { core.lock.withLock { extras?.deliveryCounter } }
        set { core.lock.withLock { withExtras { $0.deliveryCounter = newValue } } }
    }

    var mailbox: (any FlushableMailbox)? {
        get { core.lock.withLock { extras?.mailbox } }
        set { core.lock.withLock { withExtras { $0.mailbox = newValue } } }
    }

    /// Under the core's lock.
    private func withExtras(_ body: (Extras) -> Void) {
        body(extras ?? addExtras(owner: nil))
    }

    /// Makes the observer the beginning of a path, or of a delivery through a mailbox: who removes it from its source ends the observations of `path`.
    func begin(path: RegistryCore) {
        core.lock.withLock { withExtras { $0.path = path } }
    }

    /// The core of the path that begins here, if any.
    var path: RegistryCore? { core.lock.withLock { extras?.path } }

    /// Whether the observer wires a path, from its second step on. Under the core's lock.
    var isInsidePath: Bool { state.load(ordering: .relaxed) & ObserverState.isWiring != 0 && extras?.path == nil }

    /// Whether the observer wires a path, at any step.
    var isWiring: Bool { state.load(ordering: .relaxed) & ObserverState.isWiring != 0 }

    /// How an observation that was bound to this owner ends; nil for one of another owner, or of none. Under the core's lock.
    ///
    /// An address outlives its object: where the reference is empty, the owner is dead, or dying, and another object may
    /// have its address. The caller holds `owner`, so that loading the reference drops the last reference to nothing.
    func endIfBound(to owner: AnyObject) -> ObservationEnd? {
        guard let reference = extras?.owner, reference.identity == ObjectIdentifier(owner) else { return nil }
        if mutant(.anOwnerIsKnownByItsAddress) { return .cancelled }
        return reference.object === owner ? .cancelled : .ownerDeleted
    }

    /// Whether the owner, if there is one, is gone. Under no lock: looking may drop the owner's last reference.
    var hasLostOwner: Bool {
        if mutant(.anActorsDeathGoesUnnoticed) { return false }
        let owner = core.lock.withLock { extras?.owner }
        return owner.map { $0.isDead } ?? false
    }
}

/// An object that is watched, not kept.
@usableFromInline
internal final class WeakReference: Sendable {
    @usableFromInline weak let object: (any AnyObject & Sendable)?

    /// The address of the object, which another one may have once it is dead: to compare first, without loading the
    /// reference.
    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(_ object: any AnyObject & Sendable) {
        self.object = object
        identity = ObjectIdentifier(object)
    }

    #if INSTRUMENTED
    // For seeded bugs. Wrong, both, and meant to be: nothing keeps the object.

    /// Lends the object, dead or not.
    @inlinable
    func withUnguarded<Object: AnyObject>(_ body: (Object) -> Void) {
        unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(bitPattern: identity))!)
            ._withUnsafeGuaranteedRef(body)
    }

    /// The object at an address, dead or not.
    static func unguarded<Object: AnyObject>(at address: UInt) -> Object {
        unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }
    #endif

    var isDead: Bool {
        // The load may keep the object for a moment, and then drop its last reference: user code.
        ThreadRecord.withUserCode { object == nil }
    }
}

extension ThreadRecord {
    /// Counts an observation that began or ended, for the diagnostics.
    @usableFromInline
    static func countLiveObserver(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.liveObservers.store(
            counter.pointee.liveObservers.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Counts events that have been sent, or, negative, received or dropped, for the diagnostics.
    @usableFromInline
    static func countPending(_ step: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.pendingCount.store(
            counter.pointee.pendingCount.load(ordering: .relaxed) &+ step,
            ordering: .relaxed
        )
    }

    /// Counts events that their observer does not receive, for the diagnostics.
    @usableFromInline
    static func countDropped(_ count: Int) {
        // Safe: records are never freed. Relaxed: a statistic with one writer.
        let counter = unsafe current
        unsafe counter.pointee.droppedCount.store(
            counter.pointee.droppedCount.load(ordering: .relaxed) &+ UInt(count),
            ordering: .relaxed
        )
    }
}
