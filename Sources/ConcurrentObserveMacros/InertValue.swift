// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Conforms a struct or an enumeration to the protocol `InertValue`, if all that it stores is
/// inert.
///
/// ```swift
/// @InertValue
/// struct Limits: Equatable {
///     var name: String
///     var byRegion: [String: Int]
/// }
/// let limits = Observed(Limits(name: "default", byRegion: [:]))
/// ```
///
/// The thread that replaces such a value releases it, in batches, which takes a fraction of the
/// time that values with code of yours in their destruction take. The compiler checks every stored
/// property and every associated value: its type conforms to `InertValue`, or is `BitwiseCopyable`.
/// A class, a closure, and an existential are refused.
///
/// A stored variable has no property wrapper: what that stores would not be checked. Nor is what
/// other macros that are attached to the type add to it: leave them out. A type that is `private`
/// in another one is refused, as the conformance stands beside both: make it `fileprivate`.
///
/// If a type of another module is refused although it has no `deinit` of yours, as `Date`, conform
/// it by hand: `extension Date: @retroactive InertValue {}`.
@attached(extension, conformances: InertValue, names: named(_storesInertValues))
public macro InertValue() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "InertValueMacro")
#endif
