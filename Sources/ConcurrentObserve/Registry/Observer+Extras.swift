// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// State that only few observations need, such as an owner, or listeners for the end.
    @safe final class Extras {
        let unmanagedCore: Unmanaged<RegistryCore>
        /// A weak reference to the owner; nil once the observation has finished. It keeps the
        /// owner's memory allocated.
        var owner: WeakReference?
        var onEnd: [OnEnd] = []
        /// Whether a thread is calling the listeners for the end of the observation.
        var isNotifying = false
        /// The object that is kept with the observation: see `ObservationCompanion`; nil if there
        /// is none.
        var companion: ObservationCompanion?
        /// The core of the observations that this observer feeds (see `Observer.feed`). It is the
        /// core of a path that begins at this source, of the observation behind a mailbox, or of
        /// the property that has the values of a group.
        var dependents: RegistryCore?
        /// The single observation that this observer feeds. In a two-way binding, the observer of
        /// the right side feeds the observer of the left side.
        var principal: Observer?
        /// A function that is called after the observation has ended, before the call that ended it
        /// returns.
        var atEnd: (@Sendable () -> Void)?
        /// A function that is called when the content is destroyed, before the observation counts
        /// as finished.
        var beforeFinished: (@Sendable () -> Void)?
        /// A function that is called when the source is gone.
        var atSourceEnd: (@Sendable () -> Void)?

        init(core: Unmanaged<RegistryCore>, owner: WeakReference?) {
            unsafe unmanagedCore = unsafe core
            self.owner = owner
        }

        /// Returns the extras whose address is in the word `home`. The lowest bit of `home` must be
        /// set.
        static func at(_ home: UInt) -> Extras {
            // Safe: the observer owns a reference, and the caller holds the observer.
            unsafe Unmanaged<Extras>.fromOpaque(UnsafeRawPointer(bitPattern: home & ~1).unsafelyUnwrapped)
                .takeUnretainedValue()
        }
    }

    /// The extras; nil if the observer has none. The core's lock guards their properties, except
    /// `unmanagedCore`.
    final var extras: Extras? {
        // Acquire: pairs with the release in addExtras(owner:).
        let home = home.load(ordering: .acquiring)
        return home & 1 == 0 ? nil : Extras.at(home)
    }

    /// Adds extras with this owner, and returns them. Must be called once, under the core's lock,
    /// or before another thread has the observer.
    @discardableResult
    final func addExtras(owner: WeakReference?) -> Extras {
        let extras = unsafe Extras(core: unmanagedCore, owner: owner)
        // Safe: leaveCore() releases the reference. Release: pairs with the acquires in extras and
        // loadHome().
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
        home.store(address | 1, ordering: .releasing)
        return extras
    }

    /// The object that is kept with the observation: see `ObservationCompanion`; nil if there is
    /// none.
    var companion: ObservationCompanion? {
        get { core.lock.withLock { extras?.companion } }
        set { core.lock.withLock { withExtrasLocked { $0.companion = newValue } } }
    }

    /// Calls `body` with the extras, which are added if there are none. The caller must hold the
    /// core's lock.
    func withExtrasLocked(_ body: (Extras) -> Void) {
        body(extras ?? addExtras(owner: nil))
    }

    /// Registers `body`, which is called when the source is gone. The thread that releases the
    /// source calls `body` under no lock, before the release returns.
    func atSourceEnd(_ body: @escaping @Sendable () -> Void) {
        core.lock.withLock { withExtrasLocked { $0.atSourceEnd = body } }
    }

    /// Registers `body`, which is called when the observation has ended and its content is
    /// destroyed. A thread that waits for the end of the observation returns only after that call.
    /// Must be called before the observation begins. An observation has at most one such `body`.
    /// (P8, P9)
    func beforeFinished(_ body: @escaping @Sendable () -> Void) {
        core.lock.withLock { withExtrasLocked { $0.beforeFinished = body } }
    }

    /// Registers `body`, which is called after the observation has ended. The thread that ends the
    /// observation calls `body` under no lock, before its own call returns. `body` must run no user
    /// code and wait for nothing. An observation has at most one such `body`. (P8)
    ///
    /// - Returns: False if the observation has ended already; then nothing is registered. Otherwise
    ///   true.
    func atEnd(_ body: @escaping @Sendable () -> Void) -> Bool {
        core.lock.withLock {
            guard isMarkedActive else { return false }
            withExtrasLocked { $0.atEnd = body }
            return true
        }
    }

    /// Calls the `body` that was given to `atEnd`, if there is one. The observation must have
    /// ended.
    func reportEnd() {
        // Most observers have no extras, and take no lock.
        guard let extras else { return }
        core.lock.withLock { extras.atEnd.take() }?()
    }

    /// Called after the end of the source has ended the observation. Notifies the derived value to
    /// which the observer belongs, or calls the `body` that was given to `atSourceEnd`.
    func sourceIsGone() {
        if isOfDerivedValue {
            // Safe: the content is destroyed only after this thread has retired the observer. It is
            // a `HeldObject` of a subclass of `SourceWitness`.
            return unsafe UnsafePointer<Unmanaged<SourceWitness>>(bitPattern: address &+ UInt(Self.objectOffset))
                .unsafelyUnwrapped.pointee._withUnsafeGuaranteedRef { $0.sourceIsGone() }
        }
        // Most observers have none, and take no lock.
        guard extras != nil else { return }
        let body = core.lock.withLock { extras?.atSourceEnd.take() }
        if let body { ThreadRecord.withUserCode { body() } }
    }

    /// The object that the observer holds, if the observer is in the list of links; nil if it is in
    /// another list. The observation must not have ended. The caller must hold the core's lock.
    var witnessLocked: SourceWitness? {
        guard knownMark.list == .links else { return nil }
        // Safe: the content is destroyed only after the end, which takes the lock. It is a
        // `HeldObject` of a subclass of `SourceWitness`.
        return unsafe UnsafePointer<Unmanaged<SourceWitness>>(bitPattern: address &+ UInt(Self.objectOffset))
            .unsafelyUnwrapped.pointee.takeUnretainedValue()
    }

    /// Whether the observer belongs to an observation of another source.
    var isForeign: Bool { knownMark.contains(.isForeign) }

    /// Whether the observer belongs to a derived value.
    var isOfDerivedValue: Bool { knownMark.contains(.isOfDerivedValue) }

    /// If `owner` owns this observation, returns the reason for ending it when all observations of
    /// `owner` are removed: `.cancelled`, or `.ownerDeleted` if the owner's `deinit` has begun.
    /// Otherwise returns nil. The caller must hold the core's lock.
    ///
    /// The caller must also hold `owner`, so that this function never releases the last reference
    /// to it.
    func endIfBoundLocked(to owner: AnyObject) -> ObservationEnd? {
        guard let reference = extras?.owner, reference.identity == ObjectIdentifier(owner) else { return nil }
        return reference.object == nil ? .ownerDeleted : .cancelled
    }

    /// Whether the observation has an owner, and the owner is dead. Also true if the observation
    /// had an owner and has finished, because the reference to the owner is then released. The
    /// caller must hold no lock, because the check may release the owner's last reference.
    var hasLostOwner: Bool {
        let owner = core.lock.withLock { extras?.owner }
        return owner.map { $0.isDead } ?? knownMark.contains(.ownerBound)
    }
}

/// An object that an observer in the list of links holds. If the observer belongs to a derived
/// value, the object is notified when the source is gone.
@usableFromInline
internal class SourceWitness: @unchecked Sendable {
    // Unchecked: each subclass says how its properties are guarded.
    init() {}

    /// Called on the thread that releases the source, before the release returns, under no lock.
    func sourceIsGone() {}
}

/// An object that is kept with an observation, in addition to the observer's content. The folder
/// Delivery has the subclass `DeliveryState`, for observers with a mailbox. The folder Derivation
/// has the subclass `FollowerCompanion`, for observers that a derived value has at other
/// properties.
@usableFromInline
internal class ObservationCompanion: @unchecked Sendable {
    // Unchecked: subclasses say what they have.
    init() {}
}
