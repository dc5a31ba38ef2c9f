// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps a derived value of a model's own properties. It is made once, when it is first needed.
///
/// A derived value that is made in a model's initialiser cannot name the model's properties. This
/// one is made later, on any thread:
///
/// ```swift
/// final class Car: ConcurrentObservable {
///     let rpm = Observed(800)
///     let stalled = Observed(false)
///     private let storedHealth = DerivedStorage<Bool>()
///
///     var healthy: Derived<Bool> {
///         storedHealth.derived { Derived(rpm, stalled) { $0 < 6_000 && !$1 } }
///     }
/// }
/// ```
///
/// Name the properties in the function, and not the model: a function that captures the model keeps
/// it alive. No observation keeps the derived value. The observations end with the model, and the
/// model may keep their tokens. (P11, P12)
public struct DerivedStorage<Value: Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Derived<Value>>()

    /// Makes a storage without a derived value.
    public init() {}

    /// Returns the derived value, and makes it if there is none. Any thread; never waits. If two
    /// threads are the first, both may make one, and both receive the same.
    ///
    /// - Parameter make: Makes the derived value. Called under no lock, on the calling thread.
    /// - Complexity: O(1).
    public borrowing func derived(_ make: () -> Derived<Value>) -> Derived<Value> {
        if let present = reference.load() { return present }
        let made = make()
        made.isOfModel = true
        return reference.storeIfNil(made)
    }

    /// Ends every observation of the derived value, as if each was cancelled. Any thread; never
    /// waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public borrowing func cancelAllObservations() { reference.load()?.cancelAllObservations() }
}
