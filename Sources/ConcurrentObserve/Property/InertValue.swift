// SPDX-License-Identifier: Apache-2.0

/// A value whose destruction runs no code of yours: nothing that it owns has a `deinit` that does.
///
/// A property destroys its earlier values after it has been changed. Threads of the library destroy
/// values whose destruction may run your code. Strings, and collections of strings and numbers, are
/// destroyed in batches by threads that replace such values, which takes a fraction of the time. A
/// struct of yours is treated in this way if it conforms:
///
/// ```swift
/// struct Limits: InertValue, Equatable {
///     var name: String
///     var byRegion: [String: Int]
/// }
/// let limits = Observed(Limits(name: "default", byRegion: [:]))
/// ```
///
/// Conform with structs and enumerations that store numbers, strings, collections of these, and other inert values. Values without
/// references (all of whose parts are `BitwiseCopyable`) need no conformance.
///
/// The macro `@InertValue` of `ConcurrentObserveMacros` conforms a type and has the compiler check what it stores.
///
/// - Warning: The compiler does not check a conformance that is written by hand. If a `deinit` of
///   yours is reached nonetheless, it runs once and under no property's lock. But it may run on any
///   thread that changes any property, or on the thread that reclaims memory for all of them. If it
///   blocks there, it holds up all reclamation; if it waits for the library, it may wait for ever.
///   (P5, P14)
public protocol InertValue: Sendable {}

extension String: InertValue {}
extension Substring: InertValue {}
extension Character: InertValue {}
extension Bool: InertValue {}
extension Int: InertValue {}
extension Int8: InertValue {}
extension Int16: InertValue {}
extension Int32: InertValue {}
extension Int64: InertValue {}
extension UInt: InertValue {}
extension UInt8: InertValue {}
extension UInt16: InertValue {}
extension UInt32: InertValue {}
extension UInt64: InertValue {}
extension Float: InertValue {}
extension Double: InertValue {}
extension Duration: InertValue {}
extension Optional: InertValue where Wrapped: InertValue {}
extension Array: InertValue where Element: InertValue {}
extension ContiguousArray: InertValue where Element: InertValue {}
extension ArraySlice: InertValue where Element: InertValue {}
extension Set: InertValue where Element: InertValue {}
extension Dictionary: InertValue where Key: InertValue, Value: InertValue {}
