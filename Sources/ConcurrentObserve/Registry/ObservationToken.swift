// SPDX-License-Identifier: Apache-2.0

/// Keeps an observation going: releasing the last reference to it ends the observation. (P10)
///
/// It retains neither the source nor the owner, and may outlive both. Every member may be used from
/// any thread, also inside a callback. Two tokens are equal if they are the same object.
public final class ObservationToken: Sendable {
    internal let observer: Observer

    @usableFromInline
    internal init(_ observer: consuming Observer) { self.observer = observer }

    deinit {
        // Safe: this object's own reference. Counted once more, as the compiler would, it costs as
        // much as all else here.
        unsafe Unmanaged.passUnretained(observer)._withUnsafeGuaranteedRef { observer in
            if observer.isMarkedActive, observer.end(.cancelled) { observer.countDroppedToken() }
        }
    }

    /// Whether the observation has not ended: false once it is cancelled, or its source or owner is
    /// gone. (P12, P13)
    public var isActive: Bool { observer.isActive }

    /// Ends the observation. Any thread, also inside a callback; never waits for a callback. (P8)
    ///
    /// A notification that begins after `cancel()` returned is not delivered. One that is under way
    /// on another thread may still begin its callback; use `cancelAndWait()` where that matters.
    /// The closure is destroyed soon after its last callback has returned, on a thread of the
    /// library (P14). Calling it again does nothing.
    ///
    /// - Complexity: O(1). Needs no memory. When its thread has cancelled thousands within a
    ///   moment, it pauses some milliseconds for the reclamation to catch up (P16).
    public func cancel() {
        observer.end(.cancelled)
    }

    /// Calls `body` with the reason once the observation has ended: after its last callback, once.
    /// (P12)
    ///
    /// It runs on a thread of the library, or on the one that waits in `cancelAndWait()`; if the
    /// observation has ended and its closure is destroyed already, at once, before `onEnd` returns.
    /// Bodies run in the order in which they are given, one at a time: one that is given while
    /// earlier ones wait or run, be it by one of them, comes after these, on their thread.
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
