// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// Keeps an observation active: releasing the last reference to the token ends the observation.
/// (P10)
///
/// It retains neither the source nor the owner, and may outlive both. Every member may be used from
/// any thread, also inside a callback. Two tokens are equal if they are the same object.
public final class ObservationToken: Sendable {
    internal let observer: Observer

    @usableFromInline
    internal init(_ observer: consuming Observer) { self.observer = observer }

    deinit {
        // Safe: this object's own reference. The compiler would count it once more, which would
        // cost as much as the rest of this deinit.
        unsafe Unmanaged.passUnretained(observer)._withUnsafeGuaranteedRef { observer in
            if observer.isMarkedActive, !Fork.isInChild, observer.end(.cancelled) { observer.countDroppedToken() }
        }
    }

    /// Whether the observation has not ended. False once it is cancelled, or its source or owner is
    /// gone. (P12, P13)
    public var isActive: Bool { observer.isActive }

    /// Ends the observation. Any thread, also inside a callback; never waits for a callback. (P8)
    ///
    /// A notification that begins after `cancel()` returned is not delivered. A notification that
    /// is running on another thread may still begin its callback; use `cancelAndWait()` if that
    /// matters. The closure is destroyed soon after its last callback has returned, on a thread of
    /// the library (P14). Further calls do nothing.
    ///
    /// - Complexity: O(1). Needs no memory. If a thread cancels thousands of observations within a
    ///   moment, it pauses some milliseconds, until the reclamation catches up (P16).
    public func cancel() {
        observer.end(.cancelled)
    }

    /// Calls `body` once with the reason after the observation has ended and its last callback has
    /// returned. (P12)
    ///
    /// `body` runs on a thread of the library, or on the thread that waits in `cancelAndWait()`. If
    /// the observation has ended and its closure is destroyed already, `body` runs before `onEnd`
    /// returns. Bodies run in the order in which they are given, one at a time. If a body is given
    /// while earlier bodies wait or run, it runs after them, on the same thread. This is also true
    /// for a body that an earlier body gives.
    ///
    /// - Parameter body: Called under no lock. Its code counts as inside a callback.
    /// - Returns: The token, so that it can be kept in the same expression.
    @discardableResult
    public func onEnd(_ body: @escaping @Sendable (ObservationEnd) -> Void) -> ObservationToken {
        observer.notifyInOrder(body)
        return self
    }

    /// Adds the token to a set that keeps it.
    public func store(in tokens: inout Set<ObservationToken>) { tokens.insert(self) }

    /// Appends the token to a collection that keeps it.
    public func store(in tokens: inout some RangeReplaceableCollection<ObservationToken>) { tokens.append(self) }
}

extension ObservationToken: Hashable {
    public static func == (left: ObservationToken, right: ObservationToken) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The reason why an observation ended. `first(where:)` throws it if the observation ended before a
/// value was accepted.
public enum ObservationEnd: UInt32, Error, Sendable, Equatable {
    /// The observation was ended by `cancel()`, by the release of its token, or by a call that ends
    /// all observations of its source or of its owner.
    case cancelled = 0
    /// The source of the observation was deinitialised.
    case sourceDeleted = 1
    /// The owner of the observation was deinitialised.
    case ownerDeleted = 2
}

/// A handle of an observation, which the observation's own callback receives. The callback can end
/// the observation with it.
///
/// The handle is not the token, and does not keep the observation active. The callback may store
/// the handle, and any thread may use it later.
public struct ObservationHandle: Sendable, Hashable {
    @usableFromInline internal let observer: Observer

    @inlinable
    internal init(_ observer: Observer) { self.observer = observer }

    /// Whether the observation has not ended. Any thread; never waits for a callback. (P12, P13)
    ///
    /// The call retains the owner for a moment. If it then releases the last reference, the owner's
    /// `deinit` runs here.
    public var isActive: Bool { observer.isActive }

    /// Ends the observation, as `ObservationToken.cancel()` does. (P8)
    ///
    /// - Complexity: O(1).
    public func cancel() { observer.end(.cancelled) }

    public static func == (left: ObservationHandle, right: ObservationHandle) -> Bool {
        left.observer === right.observer
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(observer)) }
}

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
    /// Ends every observation of the source, as if each was cancelled, whatever its delivery is.
    /// This includes the observations of paths that begin with the source. Any thread, also inside
    /// a callback; never waits. (P8)
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
    @_documentation(visibility: internal)
    public func cancelAllObservations() { for source in self { source.cancelAllObservations() } }
}

extension Dictionary: ObservationSource where Value: ObservationSource {
    /// Ends every observation of every value, as if each was cancelled. (P8)
    @_documentation(visibility: internal)
    public func cancelAllObservations() { for source in values { source.cancelAllObservations() } }
}

extension Optional: ObservationSource where Wrapped: ObservationSource {
    /// Ends every observation of the source, if there is one, as if each was cancelled. (P8)
    @_documentation(visibility: internal)
    public func cancelAllObservations() { self?.cancelAllObservations() }
}

extension ObservationToken {
    /// Ends every observation of these sources, as if each was cancelled, whatever its delivery is.
    /// This includes the observations of paths that begin with one of them. Any thread, also inside
    /// a callback; never waits. (P8)
    ///
    /// - Complexity: O(sources and observers).
    public static func cancelAll(of sources: any ObservationSource...) {
        for source in sources { source.cancelAllObservations() }
    }

    /// Ends every observation that was registered with `owner`, whatever it observes, as if each
    /// was cancelled. Any thread, also inside a callback. (P8)
    ///
    /// If the owner's own `deinit` calls this, the observations end with `.ownerDeleted`. (P13)
    ///
    /// - Complexity: O(*n*) in the observers of all sources that have owner-bound observers.
    public static func cancelAll(ownedBy owner: AnyObject) { OwnerWatch.removeAll(boundTo: owner) }
}
