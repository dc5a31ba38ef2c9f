// SPDX-License-Identifier: Apache-2.0

/// A member that a key path can name: a property that keeps its values, or a view of such a
/// property.
@usableFromInline
internal protocol PathNameable: Sendable {
    associatedtype Stored: Sendable

    /// The property that keeps the values and delivers their changes.
    var stored: Observed<Stored> { get }
    /// Whether the property is weak: it does not keep its value alive.
    static var isWeak: Bool { get }
    /// Returns the property whose draft the body of a commit may set. Traps if the named member is
    /// read-only.
    var settable: Observed<Stored> { get }
}

extension PathNameable {
    @usableFromInline static var isWeak: Bool { false }
    @usableFromInline var settable: Observed<Stored> { stored }
}

extension Observed: PathNameable {
    @usableFromInline var stored: Observed<Value> { self }
}

extension ReadOnly: PathNameable {
    @usableFromInline var stored: Observed<Value> { property }
    @usableFromInline var settable: Observed<Value> {
        fatalError(
            "ConcurrentObserve: the body of a commit set a path whose last property is shown read-only. Make the property itself a member."
        )
    }
}

/// A weak property stores weak references, so the path keeps no referent alive.
extension WeakObserved: PathNameable {
    @usableFromInline var stored: Observed<WeakBox<Referent>> { storage }
    @usableFromInline static var isWeak: Bool { true }
}

/// A kind of member on a path, plain or weak. Each step of the path has one. It converts the values
/// that the named property stores to the values that the path shows.
@usableFromInline
internal protocol PathMember: SendableMetatype {
    /// The type of the member that the user's key path names.
    associatedtype Named: PathNameable
    associatedtype Value: Sendable
    typealias Stored = Named.Stored

    /// Returns the value that the path shows for a stored one.
    static func value(of stored: Stored) -> Value

    /// Sets the property's draft, in the body of a commit, so that the path shows `value`.
    static func setDraft(_ value: Value, of named: Named, _ transaction: borrowing Transaction)
}

/// A plain member: the path exposes its value unchanged.
@usableFromInline
internal enum PlainMember<Named: PathNameable>: PathMember {
    @inlinable
    static func value(of stored: Named.Stored) -> Named.Stored { stored }

    @usableFromInline
    static func setDraft(_ value: Named.Stored, of named: Named, _ transaction: borrowing Transaction) {
        transaction[named.settable] = value
    }
}

/// A plain member after an optional step: the path exposes its value as an optional.
@usableFromInline
internal enum OptionalMember<Named: PathNameable>: PathMember {
    @inlinable
    static func value(of stored: Named.Stored) -> Named.Stored? { .some(stored) }

    @usableFromInline
    static func setDraft(_ value: Named.Stored?, of named: Named, _ transaction: borrowing Transaction) {
        let property = named.settable
        guard let value else {
            fatalError(
                "ConcurrentObserve: the body of a commit set a path to nil whose last property cannot be nil. Set the optional step before it to nil, or set a value."
            )
        }
        transaction[property] = value
    }
}

/// A weak member: the path exposes its referent. Its observers receive the changes of the stored
/// references, converted to changes of the referents.
internal enum WeakMember<Referent: WeaklyObservable>: PathMember {
    static func value(of stored: WeakBox<Referent>) -> Referent? { stored.referent }

    static func setDraft(_ value: Referent?, of named: WeakObserved<Referent>, _ transaction: borrowing Transaction) {
        transaction[named] = value
    }
}
