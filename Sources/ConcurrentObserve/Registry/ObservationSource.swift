// SPDX-License-Identifier: Apache-2.0

/// Something that observers are registered with: a property, a registry, or a collection of them.
///
/// `Observed`, `WeakObserved` and `ObserverRegistry` adopt it, and so do arrays, dictionaries and optionals of sources. It
/// serves to name sources of different types side by side:
///
/// ```swift
/// ObservationToken.cancelAll(of: name, mileage, wheels, horn)
/// ```
public protocol ObservationSource {
    /// Ends every observation of the source, as if each was cancelled: those of whatever delivery, and those of paths
    /// that begin with it. Any thread, also inside a callback; never waits. (P8)
    ///
    /// A path that leads through the source from another object goes on: it is an observation of its root.
    ///
    /// - Complexity: O(*n*) in the observers.
    func cancelAllObservations()
}

extension ObserverRegistry: ObservationSource {
    /// Ends every observation, as `removeAll()` does. (P8)
    public func cancelAllObservations() { removeAll() }
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
    /// Ends every observation of these sources, as if each was cancelled: those of whatever delivery, and those of paths
    /// that begin with one of them. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(sources and observers).
    public static func cancelAll(of sources: any ObservationSource...) {
        for source in sources { source.cancelAllObservations() }
    }
}
