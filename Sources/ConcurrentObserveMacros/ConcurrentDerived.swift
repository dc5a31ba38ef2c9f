// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Makes a computed variable of a `@ConcurrentObservable` class observable, as a derived value of
/// the variables that it reads.
///
/// ```swift
/// @ConcurrentObservable
/// final class Engine {
///     var rpm = 800
///     var isStalled = false
///     @ConcurrentDerived var isHealthy: Bool { rpm < 6_000 && !isStalled }
/// }
/// let token = engine.observe(\.isHealthy) { change in print(change.new) }
/// print(engine.observedProperties.isHealthy.value)
/// ```
///
/// `observedProperties` has the variable as a `Derived` with the same body. It is made when it is
/// first needed. It depends on the observed and derived variables that the last run of the body
/// read. Variables of models count, too: `engine.rpm` in a body depends on `engine`, and on the
/// `rpm` of this engine. If one of these variables changes, the `Derived` is computed again, and
/// observers receive each result that differs.
///
/// The variable itself does not change: `engine.isHealthy` runs the body on the present values,
/// which it reads one after the other. If other threads change several values at once, the body may
/// read some from before the changes, and some from after them. This does not happen to the
/// `Derived`, and it keeps its result. Read it where that matters.
///
/// - The variable has only a getter, which is neither `async` nor throws. The body reads the
///   class's variables and constants by name. It cannot use `self` in other ways, methods of the
///   class, or computed variables without this mark, because reads inside these are not followed.
///   Write the type in front of static members.
/// - The body may read observed and derived variables of models, of optional models, and of models
///   in arrays. These reads are followed. Other uses of a model are errors: the body must not pass
///   it to a function, give it a written type, or read a variable that is not observed. If the
///   model itself is the result, or is compared, write `unfollowed(engine)`. Reads of the returned
///   model are not followed.
/// - If a closure reads the model of a model, bind that model to a name first:
///   `let gears = engine.gears`, then `gears.map { $0.number }`.
/// - Reads of models in dictionaries, sets, and other containers are not followed. Reads of values
///   whose type is a generic parameter are not followed either.
/// - The variable has no other attribute that changes its meaning, such as a result builder, a
///   property wrapper, or a global actor.
/// - The body cannot read the class's variables in escaping closures, such as those of `lazy` and
///   `Task`, or in methods of a type that it declares. In the body, `#function` has another name.
/// - A mistake in the body is reported twice.
@attached(peer)
public macro ConcurrentDerived() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentDerivedMacro")

/// Returns its argument: a model, an optional model, or an array of models.
///
/// Use it in the body of a variable with ``ConcurrentDerived()`` if the model itself is the result,
/// or is compared: `unfollowed(engine)`. The derived value does not follow reads of the returned
/// model.
@inlinable
public func unfollowed<Model>(_ model: Model) -> Model { model }
#endif
