// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Gives one variable observed storage. `@ConcurrentObservable` attaches this macro to the
/// variables of a class. Do not write it by hand.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(_))
public macro ConcurrentObserved() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservedMacro")

/// Gives observed storage to a variable whose type only the class can name. `@ConcurrentObservable`
/// attaches this macro. Do not write it by hand.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(_))
public macro ConcurrentObserved(isHidden: Bool) =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservedMacro")
#endif
