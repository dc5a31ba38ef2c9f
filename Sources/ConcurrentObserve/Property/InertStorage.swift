// SPDX-License-Identifier: Apache-2.0

/// Checks that the macro `@InertValue` adds for each stored part of a type. The compiler makes
/// them; they do nothing at run time.
public enum InertStorage {
    /// Accepts a part that conforms.
    @inlinable
    public static func check<Part: InertValue>(_ part: Part.Type) {}

    /// Accepts a part that owns nothing.
    @_disfavoredOverload
    @inlinable
    public static func check<Part: BitwiseCopyable>(_ part: Part.Type) {}

    /// Refuses any other part: the compiler says why.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "what an '@InertValue' stores must be inert: 'InertValue' or 'BitwiseCopyable'. If its destruction runs no code of yours, conform it, too; if it is a class or a closure, leave out '@InertValue'"
    )
    public static func check<Part>(_ part: Part.Type) { fatalError("check(_:) is unavailable") }

    /// Returns the type of a stored property, which the compiler infers.
    @inlinable
    public static func type<Value, Part>(of member: KeyPath<Value, Part>) -> Part.Type { Part.self }
}
