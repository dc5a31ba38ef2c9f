// SPDX-License-Identifier: Apache-2.0

/// An object that weak properties may refer to: they notify their observers when it dies.
///
/// One stored property adopts it, in a class or an actor, of any isolation:
///
/// ```swift
/// final class Session: WeaklyObservable {
///     let lifetime = ReferentLifetime()
/// }
/// ```
public protocol WeaklyObservable: AnyObject, Sendable {
    /// The object's lifetime, stored in the object: `let lifetime = ReferentLifetime()`.
    var lifetime: ReferentLifetime { get }
}

/// The lifetime of one object. When it ends, the weak properties that refer to the object become
/// nil. (P12)
///
/// Swift destroys what an object stores after the object's `deinit` has run, on the thread that
/// released the last reference. The lifetime ends at that moment. It cannot be copied: so only the
/// object has it, and it never ends later.
///
/// That thread makes the weak properties nil one after the other, and calls the observers of each.
/// A callback that blocks delays the thread, and with it the other weak properties of this object.
/// (P7)
public struct ReferentLifetime: ~Copyable, Sendable {
    private let deaths = ObserverRegistry<Void>()

    /// Begins with the object that stores it.
    public init() {}

    deinit { if !Fork.isInChild { deaths.notify(()) } }
}

extension ReferentLifetime {
    /// Makes an observer of the end, without its closure. It is not registered.
    internal borrowing func makeObserver() -> Observer { deaths.observers.makeObserver() }

    /// Whether this lifetime made `observer`.
    internal borrowing func owns(_ observer: Observer) -> Bool { deaths.observers.existingCore === observer.core }
}
