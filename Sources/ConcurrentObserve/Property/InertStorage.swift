// SPDX-License-Identifier: Apache-2.0

/// What the macro `@InertValue` has the compiler check of each stored part of a type. It does nothing when it runs.
public enum InertStorage {
    /// A part that conforms.
    @inlinable
    public static func check<Part: InertValue>(_ part: Part.Type) {}

    /// A part that owns nothing.
    @_disfavoredOverload
    @inlinable
    public static func check<Part: BitwiseCopyable>(_ part: Part.Type) {}

    /// Any other part: the compiler says why it is refused.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "what an '@InertValue' stores must be inert: 'InertValue' or 'BitwiseCopyable'. If its destruction runs no code of yours, conform it, too; if it is a class or a closure, leave out '@InertValue'"
    )
    public static func check<Part>(_ part: Part.Type) { fatalError("check(_:) is unavailable") }

    /// The type of a stored property, which the compiler infers.
    @inlinable
    public static func type<Value, Part>(of member: KeyPath<Value, Part>) -> Part.Type { Part.self }
}
