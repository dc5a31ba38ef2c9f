// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// What few observations have: an owner, listeners for the end.
    @safe final class Extras {
        let unmanagedCore: Unmanaged<RegistryCore>
        /// Until the observation has finished: it keeps the owner's memory.
        var owner: WeakReference?
        var onEnd: [OnEnd] = []
        /// Whether a thread calls the listeners for the end, which has come.
        var isNotifying = false
        /// The process in which that thread was, or the last listener came: after a fork nothing
        /// of these is waited for.
        var listeningGeneration: UInt32 = 0
        /// What the room above keeps with the observation.
        var companion: ObservationCompanion?
        /// The core of what the observer feeds: of the path that begins here, of the list behind a
        /// mailbox, or of the property that has the values of a group.
        var dependents: RegistryCore?
        /// The observation that the observer belongs to: that of a binding, from the other side.
        var principal: Observer?
        /// Called once the observation has ended, before the call that has ended it returns.
        var atEnd: (@Sendable () -> Void)?
        var reportsEnd = false
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

    /// Has `body` called once the observation has ended: on the thread that ends it, before the call that does so returns, under no lock.
    /// For the library's own, which runs no user code and waits for nothing; one for each observation. Returns false if that has ended. (P8)
    func atEnd(_ body: @escaping @Sendable () -> Void) -> Bool {
        core.lock.withLock {
            guard isMarkedActive else { return false }
            withExtras { ($0.atEnd, $0.reportsEnd) = (body, true) }
            return true
        }
    }

    /// The observation has ended.
    func reportEnd() {
        // Most observers have none: no lock is taken for these.
        guard let extras, core.lock.withLock({ extras.reportsEnd }) else { return }
        core.lock.withLock { extras.atEnd.take() }?()
    }

    /// The source is gone, and the observation has ended with it.
    func sourceIsGone() {
        if isOfDerivedValue {
            // Safe: no thread destroys what the observer holds before this one has retired it; it holds a `HeldObject` of a subclass.
            return unsafe UnsafePointer<Unmanaged<SourceWitness>>(bitPattern: address &+ UInt(Self.objectOffset))
                .unsafelyUnwrapped.pointee._withUnsafeGuaranteedRef { $0.sourceIsGone() }
        }
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
        let owner = core.lock.withLock { extras?.owner }
        return owner.map { $0.isDead } ?? hasForgottenOwner
    }

    private var hasForgottenOwner: Bool {
        return knownMark.contains(.ownerBound)
    }
}

extension WeakReference {
    /// How observations end that are removed by their owner, which this is and the caller holds: in
    /// its `deinit`, too.
    fileprivate var endByOwner: ObservationEnd {
        return object == nil ? .ownerDeleted : .cancelled
    }
}

/// What the observer of a derived value holds: it is notified when the source is gone.
@usableFromInline
internal class SourceWitness: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// On the thread that drops the source, before that goes on, under no lock.
    func sourceIsGone() {}
}

/// What a room above keeps with an observation, beside what the observer holds. It says what that
/// is by a subclass.
@usableFromInline
internal class ObservationCompanion: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    init() {}
}
