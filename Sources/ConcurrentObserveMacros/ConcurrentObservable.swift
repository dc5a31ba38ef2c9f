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
/// properties themselves, to modify, observe and bind. A `weak` variable becomes a `WeakObserved`; it refers to one class,
/// which adopts `WeaklyObservable`, and not to a protocol.
///
/// `removeAllObservers()` ends every observation of the object: of its observed variables, of whatever delivery, and of
/// paths that begin here. The macro writes it; a class that has registries, too, writes its own instead.
///
/// Constants, computed and static variables, what is compiled out, and variables marked `@ConcurrentObservationIgnored` stay
/// what they are.
///
/// - A variable without an initial value is initialised in the initialisers of the class. One that has an initial value is set there like anywhere
///   else: once everything is initialised, and as a change.
/// - The type of a variable need not be written where the compiler can tell it from the initial value: `State.idle`,
///   `[1, 2]`, `URL(string: text)`. It is written where the compiler cannot, for a closure, and for a `weak` variable.
///   The expression of the initial value is compiled where it stands and once more for the property, so that a mistake in it
///   is reported twice.
/// - A property has the access of its variable's setter: whoever can observe it can change it. So `private(set)` keeps others from observing.
///   A private variable of a type that is private in the class is in no `observedProperties`, and paths do not lead to it.
/// - The class cannot have the compiler write `Codable` for it: it writes `init(from:)` and `encode(to:)`. It has no nested
///   type called `Properties`: that is the macro's.
@attached(
    member,
    names: named(Properties),
    named(observedProperties),
    named(removeAllObservers),
    named(_DynamicProperties),
    named(_dynamicProperties)
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
