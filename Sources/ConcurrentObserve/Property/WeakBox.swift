// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// An object that weak properties may refer to: they notify their observers when it dies.
///
/// A class or an actor, of any isolation, adopts it with one stored property:
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
/// Swift destroys the stored properties of an object after its `deinit` has run, on the thread that
/// released the last reference. The lifetime ends at that moment. It cannot be copied: only the
/// object has it, so it never ends later than the object.
///
/// The releasing thread makes the weak properties nil one after the other, and calls the observers
/// of each. A callback that blocks delays this thread, and with it the object's other weak
/// properties. (P7)
public struct ReferentLifetime: ~Copyable, Sendable {
    private let deaths = ObserverRegistry<Void>()

    /// Makes the lifetime of the object that stores it.
    public init() {}

    deinit { if !Fork.isInChild { deaths.notify(()) } }
}

extension ReferentLifetime {
    /// Makes an observer of the end of the lifetime. The caller stores its closure, and registers
    /// it.
    internal borrowing func makeObserver() -> Observer { deaths.observers.makeObserver() }

    /// Whether this lifetime made `observer`.
    internal borrowing func owns(_ observer: Observer) -> Bool { deaths.observers.existingCore === observer.core }
}

/// The value that a weak property stores: a reference that keeps nothing alive, and the observation
/// of the referent's death.
///
/// Copying or destroying a box retains and releases no referent, so both may happen under a lock.
/// (P5)
@usableFromInline
internal struct WeakBox<Referent: WeaklyObservable>: Sendable {
    /// The referent while it lives. A reader gets a strong reference, which may become the last
    /// one. The referent is therefore loaded only where user code may run.
    weak let referent: Referent?

    /// The token of the observation of the referent's death; nil in a box that refers to no object.
    /// All copies of a box share the token, so the observation ends with the last copy, or before.
    private let watch: ObservationToken?

    /// Makes a box that refers to `referent`, or to no object if `referent` is nil. The box does
    /// not observe the object's death yet.
    init(_ referent: Referent?) {
        self.referent = referent
        watch = referent.map { ObservationToken($0.lifetime.makeObserver()) }
        watch?.observer.leaveTokenUncounted()
    }
}

extension WeakBox {
    /// Begins to observe the death of `referent`, which the caller must hold. When the referent
    /// dies, `body` is called with the observer. Must be called once, before other threads see the
    /// box.
    func watch(_ referent: Referent?, _ body: @escaping @Sendable (_ watch: Observer) -> Void) {
        guard let referent, let observer = watch?.observer else { return }
        guard referent.lifetime.owns(observer) else {
            fatalError(
                "ConcurrentObserve: the lifetime of a weak property's referent is not stored in it. Write `let lifetime = ReferentLifetime()` in its class."
            )
        }
        observer.setCallback(Callback<Void> { body(observer) })
        observer.register()
    }

    /// Returns the referent; nil if it is dead, or if the box refers to no object. Must be called
    /// where user code may run.
    func read() -> Referent? {
        return referent
    }

    /// Whether the box has never referred to an object.
    var isNone: Bool { watch == nil }

    /// Whether `observer` observes the death of this box's referent for this box.
    func isWatched(by observer: Observer) -> Bool { watch?.observer === observer }

    /// Ends the observation of the referent's death, because the property now has another value.
    func stopWatching() { watch?.cancel() }
}

/// A value that refers to an object, and does not keep it alive.
internal protocol RefersWeakly {
    /// The object; nil if it is dead. Reading this retains the object for a moment. It must
    /// therefore be read where user code may run, or while another reference keeps the object.
    var present: AnyObject? { get }
    /// The type of the objects to which values of this type refer.
    static var referentType: Any.Type { get }
}

extension WeakBox: RefersWeakly {
    static var referentType: Any.Type { Referent.self }
    var present: AnyObject? { referent }
}

/// Boxes are equal if they are copies of one box, or if both are nil. Setting the same referent
/// twice makes two boxes, which are not equal.
extension WeakBox: Equatable {
    @usableFromInline static func == (left: WeakBox, right: WeakBox) -> Bool { left.watch == right.watch }
}
