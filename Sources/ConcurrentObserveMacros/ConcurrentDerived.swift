// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Makes a computed variable of a `@ConcurrentObservable` class observable: a derived value of the
/// variables that it reads.
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
/// `observedProperties` has the variable as a `Derived`, made from the same body when it is first
/// needed. It depends on the observed and derived variables that the body has read last, also on
/// those of models that are values of these: `engine.rpm` in a body depends on `engine` and on its
/// `rpm`. It is computed again when one of them changes, and its observers receive the results that
/// differ.
///
/// The variable itself stays what it is: `engine.isHealthy` runs the body on the present values,
/// one after the other. If other threads change several of them at once, it may see some before and
/// some after. The `Derived` never does, and keeps its result: read it where that matters.
///
/// - The body has no `set`, and is not `async`. It reads the class's variables and constants by
///   name. It cannot use `self` otherwise, nor methods of the class, nor computed variables without
///   this mark: what they read would not be followed. Static members are named with their type.
/// - Models, optional ones, and arrays of them are followed where the body reads their observed and
///   derived variables. A model that is used in another way is an error: if it is passed to a
///   function, has a written type, or if the body reads a variable that is not observed. If the
///   model itself is the result, or is compared, write `unfollowed(engine)`: reads of that are not
///   followed.
/// - Bind a model's model to a name before a closure reads it: `let gears = engine.gears`, then
///   `gears.map { $0.number }`.
/// - Reads of models in dictionaries, sets, and other containers, and of values of a generic
///   parameter's type, are not followed.
/// - The variable has no other attribute that changes what it means: no result builder, wrapper, or
///   global actor.
/// - The body cannot read the class's variables in closures that escape, as those of `lazy` and
///   `Task`, nor in methods of a type that it declares. `#function` is another name there.
/// - A mistake in the body is reported twice.
@attached(peer)
public macro ConcurrentDerived() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentDerivedMacro")

/// Returns the model that it is given: an object, nil or an array.
///
/// In the body of a variable with ``ConcurrentDerived()`` it says that a model is used as itself,
/// as the result or to be compared: `unfollowed(engine)`. The derived value does not follow what is
/// read of it.
@inlinable
public func unfollowed<Model>(_ model: Model) -> Model { model }
#endif
