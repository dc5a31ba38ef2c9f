// SPDX-License-Identifier: Apache-2.0

#if Macros
@_exported public import ConcurrentObserve

/// Makes the stored variables of a final class observed properties, and the class a `ConcurrentObservable` that is `Sendable`.
///
/// ```swift
/// @ConcurrentObservable
/// final class Car {
///     var name = "Beetle"
///     var mileage = 0
///     var engine: Engine?
/// }
/// let car = Car()
/// let token = car.observe(\.engine.rpm) { change in print(change.new) }
/// car.name = "Golf"                                          // any thread
/// car.observedProperties.mileage.modify { $0 += 1 }          // reading and changing in one step
/// ```
///
/// A variable is read and set as before, from any thread, as `Observed.value` is: reading never waits, and setting calls the observers before it
/// returns. `car.mileage += 1` reads and then sets: what another thread sets in between is lost. `observedProperties` has the
/// properties themselves, to modify, observe and bind. A `weak` variable becomes a `WeakObserved`.
///
/// Constants, computed variables, and variables marked `@ConcurrentObservationIgnored` stay what they are.
///
/// - A variable without an initial value is initialised in the initialisers of the class. One that has an initial value is set there like anywhere
///   else: once everything is initialised, and as a change.
/// - The type of a variable is written, unless its value is a literal of a string, number or boolean, or a call of an initialiser that does not fail.
/// - A property has the access of its variable's setter: whoever can observe it can change it. So `private(set)` keeps others from observing.
@attached(
    member,
    names: named(Properties),
    named(observedProperties),
    named(removeAllObservers),
    named(_InferredProperties),
    named(_inferredProperties)
)
@attached(memberAttribute)
@attached(
    extension,
    conformances: ConcurrentObservable,
    ObserverRemoving,
    Sendable,
    names: named(observedProperties),
    named(removeAllObservers)
)
public macro ConcurrentObservable() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservableMacro")
#endif
