// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observers of one source: what `ObserverRegistry` and properties embed.
///
/// Two words while nobody observes. The notification path reads `head` and what hangs below it; everything else goes through the
/// core, which exists from the first observer on.
@usableFromInline
internal struct ObserverList: ~Copyable, Sendable {
    /// The address of the current table's contents, or 0 without observers.
    @usableFromInline let head = Atomic<UInt>(0)

    /// The address of the core, to which this list owns a reference, or 0.
    private let coreAddress = Atomic<UInt>(0)

    @usableFromInline
    init() {}

    deinit {
        // Acquire: pairs with the release in makeCore(label:); the last reference to the source has been dropped.
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return }
        // Safe: the reference that makeCore(label:) has kept. Whoever is the last of source and observers gives it up.
        let core = unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
        if unsafe core._withUnsafeGuaranteedRef({ $0.life.end() }) { unsafe core.release() }
    }

    /// The core, if there has been an observer.
    var existingCore: RegistryCore? {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return nil }
        // Safe: this list owns a reference.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }

    /// The core; made on first use. The list must be stored in an object, where its address does not change.
    @usableFromInline
    borrowing func core(label: String = "") -> RegistryCore { existingCore ?? makeCore(label: label) }

    /// An observer of this source, without its closure, that has not begun.
    @usableFromInline
    borrowing func makeObserver(owner: WeakReference? = nil) -> Observer {
        withCore { core in
            if owner == nil, let observer = Observer.reused(core: core) { return observer }
            return Observer(core: core, owner: owner)
        }
    }

    /// The same for a source whose changes have versions.
    @usableFromInline
    borrowing func makeVersionedObserver(owner: WeakReference? = nil, hears: UInt32 = 0) -> VersionedObserver {
        withCore { VersionedObserver(core: $0, owner: owner, hears: hears) }
    }

    /// Calls `body` with the core, which is made on first use and of which no reference is counted.
    @inline(__always)
    private borrowing func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return body(makeCore(label: "")) }
        // Safe: this list owns a reference, and is not gone before the return.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            ._withUnsafeGuaranteedRef { body($0) }
    }

    private borrowing func makeCore(label: String) -> RegistryCore {
        // Safe: an atomic is lent in place. The source outlives the address: its deinit calls `endAll`, which forgets it.
        let core = unsafe withUnsafePointer(to: head) { unsafe RegistryCore(head: $0, label: label) }
        let unmanaged = unsafe Unmanaged.passRetained(core)
        // Release and acquire: pairs with the loads above. Two threads may get here: one core stays.
        let (exchanged, original) = unsafe coreAddress.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: unmanaged.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        if exchanged {
            ReclamationThread.shared.startLooking()
            return core
        }
        unsafe unmanaged.release()
        // Safe: this list owns a reference.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: original)!).takeUnretainedValue()
    }

    /// Whether an observer may want to hear of a change before it is made.
    @usableFromInline
    var mayHavePriorObservers: Bool { counts { $0.hearingPrior.load(ordering: .relaxed) } }

    /// Whether paths may go on from here.
    @usableFromInline
    var mayHaveLinks: Bool { counts { $0.links.load(ordering: .relaxed) } }

    /// Whether observers may post changes to mailboxes.
    @usableFromInline
    var mayHaveOrderedObservers: Bool { counts { $0.ordered.load(ordering: .relaxed) } }

    /// Whether `count` is more than zero. Counts no reference. (P15)
    @inline(__always)
    private func counts(_ count: (RegistryCore) -> Int) -> Bool {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return false }
        // Safe: this list owns a reference. The counts are read relaxed: hints; whoever registered before the change began is counted.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            ._withUnsafeGuaranteedRef { count($0) > 0 }
    }

    /// Ends every observation. With `isSourceGone`, as the last thing in the source's life.
    borrowing func endAll(_ reason: ObservationEnd, isSourceGone: Bool) {
        guard let core = existingCore else { return }
        #if INSTRUMENTED
        if mutant(.aRemovalTakesTwoSteps), !isSourceGone { endHalf(core, reason) }
        #endif
        for observer in core.unlinkAll(reason, isSourceGone: isSourceGone) {
            if !isSourceGone {
                observer.path?.removeAll(reason) { _ in true }
            } else if observer.isWiring {
                observer.sourceIsGone()
            }
            retireOneOfMany(observer)
        }
        ThreadRecord.pause(for: core.source)
    }

    private borrowing func retireOneOfMany(_ observer: Observer) {
        #if INSTRUMENTED
        if mutant(.sourceDeathLeaksTheClosures) { return }
        #endif
        ThreadRecord.retire(observer, isOneOfMany: true)
    }
}
