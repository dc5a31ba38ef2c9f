// SPDX-License-Identifier: Apache-2.0

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
    /// returns. Bodies run in the order in which they are given, one at a time. A body that is
    /// given while earlier ones wait or run runs after these, on their thread, even if one of them
    /// has given it.
    ///
    /// - Parameter body: Called under no lock; it counts as inside a callback.
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
