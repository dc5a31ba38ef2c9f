// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Where a model keeps a derived value of its own properties: made when it is first asked for, once.
///
/// A derived value that is made in a model's initialiser cannot name the model's properties. This one is made
/// later, on any thread:
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
/// Name the properties in the function, and not the model: a function that captures the model keeps it alive. No observation keeps the
/// derived value: observations end with the model, which may keep their tokens. (P11, P12)
public struct DerivedStorage<Value: Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Derived<Value>>()

    /// A storage whose derived value is not made yet.
    public init() {}

    /// The derived value. Any thread; never waits. Two threads that ask for it first may both make one: both receive the
    /// same.
    ///
    /// - Parameter make: Makes the derived value. Called under no lock, on the thread that asks for it.
    /// - Complexity: O(1).
    public borrowing func derived(_ make: () -> Derived<Value>) -> Derived<Value> {
        if let present = reference.load() { return present }
        let made = make()
        made.isOfModel = true
        return reference.storeIfNil(made)
    }

    /// Ends every observation of the derived value, as if each was cancelled. Any thread; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public borrowing func cancelAllObservations() { reference.load()?.cancelAllObservations() }
}
