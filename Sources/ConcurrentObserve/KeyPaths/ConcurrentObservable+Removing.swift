// SPDX-License-Identifier: Apache-2.0

/// An object that ends all its observations at once, since it says what they are of.
///
/// `@ConcurrentObservable` writes the method. A class that is written by hand names its properties and registries:
///
/// ```swift
/// final class Car: ObserverRemoving {
///     let name = Observed("Beetle")
///     let wheels = [Observed(2.1), Observed(2.1)]
///     let horn = ObserverRegistry<Void>()
///
///     func removeAllObservers() { ObservationToken.cancelAll(of: name, wheels, horn) }
/// }
/// ```
///
/// What the method does not name is not ended. The library does not look for it: reflection would miss what is nested, read
/// variables that belong to an actor or a lock, and see nothing where the class mirrors itself otherwise.
public protocol ObserverRemoving: ConcurrentObservable {
    /// Ends every observation of this object, as if each was cancelled: those of its properties and registries, of
    /// whatever delivery, and those of paths that begin here. Any thread, also inside a callback; never waits. (P8)
    func removeAllObservers()
}

extension ConcurrentObservable {
    /// Not there unless the class says what can be observed: see `ObserverRemoving`.
    @available(
        *,
        unavailable,
        message:
            "the class has to say what can be observed: adopt 'ObserverRemoving' and write 'func removeAllObservers() { ObservationToken.cancelAll(of: name, engine) }' with its properties, or use '@ConcurrentObservable'"
    )
    public func removeAllObservers() { fatalError("removeAllObservers() is unavailable") }
}

extension ObservationToken {
    /// Ends every observation that was registered with `owner`, whatever it observes, as if each was cancelled. Any thread, also inside
    /// a callback. (P8)
    ///
    /// An observation of a dead owner that had the same address ends as `.ownerDeleted`. (P13)
    ///
    /// - Complexity: O(observers of the sources that have owner-bound ones).
    public static func cancelAll(ownedBy owner: AnyObject) { OwnerWatch.removeAll(boundTo: owner) }
}
