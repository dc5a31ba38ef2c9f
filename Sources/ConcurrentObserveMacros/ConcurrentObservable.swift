// SPDX-License-Identifier: Apache-2.0

#if Macros
@_exported public import ConcurrentObserve

/// Makes the stored variables of a final class observed properties, and the class a
/// `ConcurrentObservable` that is `Sendable`.
///
/// ```swift
/// @ConcurrentObservable
/// final class Car {
///     var name = "Beetle"
///     var mileage = 0
///     var engine: Engine?
///     private(set) var speed = 0.0
/// }
/// let car = Car()
/// let token = car.observe(\.engine.rpm) { change in
///     print(change.new ?? 0)
/// }
/// car.name = "Golf"
/// car.observedProperties.mileage.modify { $0 += 1 }
/// ```
///
/// No actor isolates the class, also in a module whose default isolation is the main actor, and
/// what the macro adds is `nonisolated`.
///
/// Any thread reads and sets a variable as before, as it does `Observed.value`: reading never
/// waits, and setting calls the observers before it returns. `car.mileage += 1` reads, then sets: a
/// value that another thread sets in between is lost. `observedProperties` has the properties
/// themselves, to modify, observe and bind. A `weak` variable becomes a `WeakObserved`. It refers
/// to one class, which adopts `WeaklyObservable`, and not to a protocol.
///
/// `car.trips.append(trip)` copies the array once, since readers keep the earlier one; so does
/// `car.observedProperties.trips.modify { $0.append(trip) }`, which loses nothing. A part of a
/// large value is read without copying it by `car.observedProperties.limits.value(\.perMinute)`.
///
/// A variable whose setter has less access than its getter, as `private(set)`, can be observed by
/// everyone who can read it: `observedProperties` has a `ReadOnly` for the variable, and paths lead
/// there. Code that may set the variable has the property itself as `_speed`, for `modify` and
/// `bind(to:)`. A variable whose type the compiler infers has no `_speed`: write its type. A `weak`
/// variable has no read-only view: only code that may set it can observe it.
///
/// `cancelAllObservations()` ends every observation of the object: those of its observed variables,
/// of whatever delivery, and those of paths that begin here. The macro writes it. A class that has
/// registries, too, writes its own instead.
///
/// A computed variable that is marked `@ConcurrentDerived` is observable, too: `observedProperties`
/// has it as a `Derived`.
///
/// A derived value reads a `let` of a model that it follows: `observedProperties` has it as a
/// property that never changes. The `let` has a written type, or a literal as its value. It is not
/// private and has no attribute. The type is `Sendable`, can be copied, and is no property.
///
/// Constants, other computed variables, static variables, what is compiled out, and variables
/// marked `@ConcurrentObservationIgnored` stay what they are.
///
/// - A variable without an initial value is initialised in the initialisers of the class. A
///   variable that has an initial value is set there as anywhere else: once everything is
///   initialised, and as a change.
/// - The type of a variable need not be written where the compiler can see it in the initial value:
///   `State.idle`, `[1, 2]`, `URL(string: text)`. It must be written where the compiler cannot, for
///   a closure, and for a `weak` variable. The expression of the initial value is compiled where it
///   stands and once more for the property, so that a mistake in it is reported twice.
/// - A private variable of a type that is private in the class is in no `observedProperties`, and
///   paths do not lead to it.
/// - The compiler cannot write `Codable` for the class: write `init(from:)` and `encode(to:)`. The
///   class has no nested type called `Properties`: the macro adds one.
@attached(
    member,
    names: named(Properties),
    named(observedProperties),
    named(cancelAllObservations),
    named(_Constants),
    named(_DynamicProperties),
    named(_dynamicProperties),
    named(_ReadOnlyDynamicProperties),
    named(_readOnlyDynamicProperties),
    named(_DerivedProperties),
    named(_derivedProperties)
)
@attached(memberAttribute)
@attached(
    extension,
    conformances: ConcurrentObservable,
    ObservationSource,
    Sendable,
    names: named(observedProperties),
    named(cancelAllObservations)
)
public macro ConcurrentObservable() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservableMacro")
#endif
