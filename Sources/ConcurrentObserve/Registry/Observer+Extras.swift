// SPDX-License-Identifier: Apache-2.0

import Synchronization

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
        /// Ends that path when the source is gone.
        var atSourceEnd: (@Sendable () -> Void)?

        init(lentCore: Unmanaged<RegistryCore>, owner: WeakReference?) {
            unsafe self.lentCore = unsafe lentCore
            self.owner = owner
        }

        /// Those that a tagged `home` names.
        static func at(_ home: UInt) -> Extras {
            // Safe: the observer owns a reference, and the caller holds the observer.
            unsafe Unmanaged<Extras>.fromOpaque(UnsafeRawPointer(bitPattern: home & ~1).unsafelyUnwrapped)
                .takeUnretainedValue()
        }
    }

    /// Guarded by the core's lock, but for `lentCore`.
    final var extras: Extras? {
        // Acquire: pairs with the release in addExtras(owner:).
        let home = home.load(ordering: .acquiring)
        return home & 1 == 0 ? nil : Extras.at(home)
    }

    /// Under the core's lock, or before anybody else has the observer. Once.
    @discardableResult
    final func addExtras(owner: WeakReference?) -> Extras {
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
    func withExtras(_ body: (Extras) -> Void) {
        body(extras ?? addExtras(owner: nil))
    }

    /// Makes the observer the beginning of a path, or of a delivery through a mailbox: who removes it from its source ends the observations of `path`.
    func begin(path: RegistryCore) {
        core.lock.withLock { withExtras { $0.path = path } }
    }

    /// Has `body` called when the source is gone: on the thread that drops the source, before that goes on, under no lock.
    func atSourceEnd(_ body: @escaping @Sendable () -> Void) {
        core.lock.withLock { withExtras { $0.atSourceEnd = body } }
    }

    /// The source is gone, and the observation has ended with it.
    func sourceIsGone() {
        let body = core.lock.withLock { extras?.atSourceEnd.take() }
        if let body { ThreadRecord.withUserCode { body() } }
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
        return reference.endOfObservations(boundTo: owner)
    }

    /// Whether the owner, if there is one, is gone. Under no lock: looking may drop the owner's last reference.
    var hasLostOwner: Bool {
        #if INSTRUMENTED
        if mutant(.anActorsDeathGoesUnnoticed) { return false }
        #endif
        let owner = core.lock.withLock { extras?.owner }
        return owner.map { $0.isDead } ?? false
    }
}
