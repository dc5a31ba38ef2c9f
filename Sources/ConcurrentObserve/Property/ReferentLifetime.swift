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
    /// What dies with the object. Stored in it: `let lifetime = ReferentLifetime()`.
    var lifetime: ReferentLifetime { get }
}

/// The life of one object: when it ends, the weak properties that refer to the object become nil. (P12)
///
/// Swift destroys what an object stores after the object's `deinit` has run, on the thread that released the last reference; that
/// is the moment. Only the object can hold it, so that it never ends later: it cannot be copied.
///
/// The weak properties are notified one after the other, and their observers with them: a callback that blocks delays the thread
/// that the object dies on, and with it the others of this object. (P7)
public struct ReferentLifetime: ~Copyable, Sendable {
    private let deaths = ObserverRegistry<Void>()

    /// Begins with the object that stores it.
    public init() {}

    deinit {
        deaths.notify(())
    }
}

extension ReferentLifetime {
    /// An observation of the end, without its closure, that has not begun.
    internal borrowing func makeObserver() -> Observer { deaths.observers.makeObserver() }

    /// Whether `observer` was made for this very life.
    internal borrowing func owns(_ observer: Observer) -> Bool { deaths.observers.existingCore === observer.core }
}
