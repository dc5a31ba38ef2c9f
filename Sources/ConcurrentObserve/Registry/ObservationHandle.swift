// SPDX-License-Identifier: Apache-2.0

/// An observation, as its own callback receives it. The callback can end the observation with it.
///
/// It is not the token and does not keep the observation active. The callback may keep it, and any
/// thread may use it later.
public struct ObservationHandle: Sendable, Hashable {
    @usableFromInline internal let observer: Observer

    @inlinable
    internal init(_ observer: Observer) { self.observer = observer }

    /// Whether the observation has not ended. Any thread; never waits for a callback. (P12, P13)
    ///
    /// The call retains the owner for a moment. If this was the last reference, the owner's
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
