// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// What few observations have: an owner, listeners for the end.
    @safe final class Extras {
        let unmanagedCore: Unmanaged<RegistryCore>
        /// Until the observation has finished: it keeps the owner's memory.
        var owner: WeakReference?
        var onEnd: [OnEnd] = []
        /// What the room above keeps with the observation.
        var companion: ObservationCompanion?
        /// The core of what the observer feeds: of the path that begins here, of the list behind a
        /// mailbox, or of the property that has the values of a group.
        var dependents: RegistryCore?
        /// The observation that the observer belongs to: that of a binding, from the other side.
        var principal: Observer?
        /// Called when the source is gone.
        var atSourceEnd: (@Sendable () -> Void)?

        init(core: Unmanaged<RegistryCore>, owner: WeakReference?) {
            unsafe unmanagedCore = unsafe core
            self.owner = owner
        }

        /// Those that a tagged `home` names.
        static func at(_ home: UInt) -> Extras {
            // Safe: the observer owns a reference, and the caller holds the observer.
            unsafe Unmanaged<Extras>.fromOpaque(UnsafeRawPointer(bitPattern: home & ~1).unsafelyUnwrapped)
                .takeUnretainedValue()
        }
    }

    /// Guarded by the core's lock, but for `unmanagedCore`.
    final var extras: Extras? {
        // Acquire: pairs with the release in addExtras(owner:).
        let home = home.load(ordering: .acquiring)
        return home & 1 == 0 ? nil : Extras.at(home)
    }

    /// Under the core's lock, or before another thread has the observer. Once.
    @discardableResult
    final func addExtras(owner: WeakReference?) -> Extras {
        let extras = unsafe Extras(core: unmanagedCore, owner: owner)
        // Safe: leaveCore() releases the reference. Release: pairs with the acquires in extras and
        // unmanagedCore.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
        home.store(address | 1, ordering: .releasing)
        return extras
    }

    /// What the room above keeps with the observation.
    var companion: ObservationCompanion? {
        get { core.lock.withLock { extras?.companion } }
        set { core.lock.withLock { withExtras { $0.companion = newValue } } }
    }

    /// Under the core's lock.
    func withExtras(_ body: (Extras) -> Void) {
        body(extras ?? addExtras(owner: nil))
    }

    /// Has `body` called when the source is gone: on the thread that drops the source, before that
    /// goes on, under no lock.
    func atSourceEnd(_ body: @escaping @Sendable () -> Void) {
        core.lock.withLock { withExtras { $0.atSourceEnd = body } }
    }

    /// The source is gone, and the observation has ended with it.
    func sourceIsGone() {
        // Most observers have none: no lock is taken for these.
        guard extras != nil else { return }
        let body = core.lock.withLock { extras?.atSourceEnd.take() }
        if let body { ThreadRecord.withUserCode { body() } }
    }

    /// Whether the observer belongs to an observation of another source.
    var isForeign: Bool { knownMark.contains(.isForeign) }

    /// Whether the observer is a derived value's.
    var isOfDerivedValue: Bool { knownMark.contains(.isOfDerivedValue) }

    /// How an observation that was bound to this owner ends; nil for one of another owner, or of
    /// none. Under the core's lock.
    ///
    /// The caller holds `owner`, so loading the reference never drops the last one.
    func endIfBound(to owner: AnyObject) -> ObservationEnd? {
        guard let reference = extras?.owner, reference.identity == ObjectIdentifier(owner) else { return nil }
        return reference.endByOwner
    }

    /// Whether the owner, if there is one, is gone, or forgotten since the observation has finished.
    /// Under no lock: looking may drop the owner's last reference.
    var hasLostOwner: Bool {
        #if INSTRUMENTED
        if mutant(.anActorsDeathGoesUnnoticed) { return false }
        #endif
        let owner = core.lock.withLock { extras?.owner }
        return owner.map { $0.isDead } ?? hasForgottenOwner
    }

    private var hasForgottenOwner: Bool {
        #if INSTRUMENTED
        if mutant(.aForgottenOwnerCountsAsAlive) { return false }
        #endif
        return knownMark.contains(.ownerBound)
    }
}

extension WeakReference {
    /// How observations end that are removed by their owner, which this is and the caller holds: in
    /// its `deinit`, too.
    fileprivate var endByOwner: ObservationEnd {
        #if INSTRUMENTED
        if mutant(.anOwnerIsKnownByItsAddress) { return .cancelled }
        #endif
        return object == nil ? .ownerDeleted : .cancelled
    }
}

/// What a room above keeps with an observation, beside what the observer holds. It says what that
/// is by a subclass.
@usableFromInline
internal class ObservationCompanion: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    init() {}
}
