// SPDX-License-Identifier: Apache-2.0

/// An object or collection whose observations can all be ended at once: a property, a registry, a
/// collection of them, or a model.
///
/// `Observed`, `WeakObserved` and `ObserverRegistry` adopt it, and so do arrays, dictionaries and
/// optionals of sources. A model adopts it by naming the members that can be observed;
/// `@ConcurrentObservable` writes this method. A class that is written by hand:
///
/// ```swift
/// final class Car: ConcurrentObservable, ObservationSource {
///     let name = Observed("Beetle")
///     let wheels = [Observed(2.1), Observed(2.1)]
///     let horn = ObserverRegistry<Void>()
///
///     func cancelAllObservations() {
///         ObservationToken.cancelAll(of: name, wheels, horn)
///     }
/// }
/// ```
///
/// The library does not end the observations of members that the method does not name, and does not
/// look for such members. Reflection would miss nested members, would read variables that belong to
/// an actor or a lock, and would see nothing if the class has a custom mirror.
public protocol ObservationSource {
    /// Ends every observation of the source, as if each was cancelled: those of any delivery, and
    /// those of paths that begin with it. Any thread, also inside a callback; never waits. (P8)
    ///
    /// The observation of a path that leads through the source from another object does not end: it
    /// is an observation of the path's root.
    ///
    /// - Complexity: O(*n*) in the observers.
    func cancelAllObservations()
}

// MARK: - Several

extension Array: ObservationSource where Element: ObservationSource {
    /// Ends every observation of every element, as if each was cancelled. (P8)
    public func cancelAllObservations() { for source in self { source.cancelAllObservations() } }
}

extension Dictionary: ObservationSource where Value: ObservationSource {
    /// Ends every observation of every value, as if each was cancelled. (P8)
    public func cancelAllObservations() { for source in values { source.cancelAllObservations() } }
}

extension Optional: ObservationSource where Wrapped: ObservationSource {
    /// Ends every observation of the source, if there is one, as if each was cancelled. (P8)
    public func cancelAllObservations() { self?.cancelAllObservations() }
}

extension ObservationToken {
    /// Ends every observation of these sources, as if each was cancelled: those of any delivery,
    /// and those of paths that begin with one of them. Any thread, also inside a callback; never
    /// waits. (P8)
    ///
    /// - Complexity: O(sources and observers).
    public static func cancelAll(of sources: any ObservationSource...) {
        for source in sources { source.cancelAllObservations() }
    }

    /// Ends every observation that was registered with `owner`, whatever it observes, as if each
    /// was cancelled. Any thread, also inside a callback. (P8)
    ///
    /// If it is called in the owner's own `deinit`, the observations end with `.ownerDeleted`.
    /// (P13)
    ///
    /// - Complexity: O(observers of the sources that have owner-bound ones).
    public static func cancelAll(ownedBy owner: AnyObject) { OwnerWatch.removeAll(boundTo: owner) }
}
