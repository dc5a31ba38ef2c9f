// SPDX-License-Identifier: Apache-2.0

/// The observation, as its own callback sees it: enough to end it from within.
///
/// It is not the token and does not keep the observation going; it may be kept and used later, from
/// any thread.
public struct ObservationHandle: Sendable, Hashable {
    @usableFromInline internal let observer: Observer

    @inlinable
    internal init(_ observer: Observer) { self.observer = observer }

    /// Whether the observation has not ended. Any thread; never waits for a callback. (P12, P13)
    ///
    /// To look at an owner is to hold it for a moment: its `deinit` may run here if that was the
    /// last reference.
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
