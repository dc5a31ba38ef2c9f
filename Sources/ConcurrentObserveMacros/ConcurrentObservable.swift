// SPDX-License-Identifier: Apache-2.0

#if Macros
@_exported public import ConcurrentObserve

/// Makes the stored variables of a final class observed properties. The class becomes a
/// `ConcurrentObservable`, and `Sendable`.
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
/// No actor isolates the class, even if the default isolation of its module is the main actor.
/// Everything that the macro adds is `nonisolated`.
///
/// Any thread may read and set the variables, like `Observed.value`. Reading never waits. Setting
/// calls the observers before it returns. `car.mileage += 1` first reads and then sets, so a value
/// that another thread sets in between is lost. `observedProperties` has the properties
/// themselves, which can be modified, observed and bound. A `weak` variable becomes a
/// `WeakObserved`. It must refer to a class that adopts `WeaklyObservable`, and not to a protocol.
///
/// `car.trips.append(trip)` copies the array once, because readers keep the earlier array.
/// `car.observedProperties.trips.modify { $0.append(trip) }` also copies it once, but no value that
/// another thread sets is lost. To read a part of a large value without a copy of the value, use
/// `car.observedProperties.limits.value(\.perMinute)`.
///
/// If the setter of a variable has less access than its getter, as with `private(set)`, all code
/// that can read the variable can observe it: `observedProperties` has a `ReadOnly` for the
/// variable, and paths can lead there. Code that may set the variable can use the property itself,
/// for `modify` and `bind(to:)`. In the example it is `_speed`. A variable whose type the compiler
/// infers has no such member, so write its type. A `weak` variable has no `ReadOnly`: only code
/// that may set it can observe it.
///
/// `cancelAllObservations()` ends every observation of the object, with any delivery: those of its
/// observed variables, and those of paths that begin here. The macro adds this method. If the class
/// also has registries, write the method yourself.
///
/// A computed variable with the mark `@ConcurrentDerived` is observable, too: `observedProperties`
/// has it as a `Derived`.
///
/// A derived value can read a `let` of a model that it follows: `observedProperties` has the `let`
/// as a property that never changes. For this, the `let` needs a written type, or a literal as its
/// value. It must not be private, and must not have an attribute. Its type must be `Sendable` and
/// copyable, and must not be one of the library's properties.
///
/// The macro does not change constants, other computed variables, static variables, code that is
/// not compiled, and variables with the mark `@ConcurrentObservationIgnored`.
///
/// - A variable without an initial value gets its value in the initialisers of the class. If a
///   variable has an initial value, an assignment in an initialiser is a change. It is possible
///   only after every variable has a value.
/// - The type of a variable need not be written if the initial value shows it to the compiler:
///   `State.idle`, `[1, 2]`, `URL(string: text)`. Otherwise it must be written, and always for a
///   closure or a `weak` variable. The expression of the initial value is compiled in its place and
///   once more for the property, so a mistake in it is reported twice.
/// - If a private variable has a type that is private in the class, it is not in
///   `observedProperties`, and paths cannot lead to it.
/// - The compiler cannot write `Codable` for the class: write `init(from:)` and `encode(to:)`. The
///   class must not have a nested type called `Properties`, because the macro adds one.
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
