// SPDX-License-Identifier: Apache-2.0

/// A kind of member on a path: a property that stores `Stored`, and that the path shows as a
/// property of `Value`.
@usableFromInline
internal protocol PathMember: SendableMetatype {
    /// The type of the member that the user's key path names.
    associatedtype Named: Sendable
    associatedtype Stored: Sendable
    associatedtype Value: Sendable

    /// Whether the property is weak: it does not keep its value alive.
    static var isWeak: Bool { get }

    /// Returns the property that keeps the values and delivers their changes.
    static func property(of named: Named) -> Observed<Stored>

    /// Returns the value that the path shows for a stored one.
    static func value(of stored: Stored) -> Value

    /// Returns the present value, as the path shows it, and its version.
    static func present(_ property: Observed<Stored>) -> (value: Value, version: UInt64)

    /// Sets the property's draft, in the body of a commit, so that the path shows `value`.
    static func setDraft(_ value: Value, of named: Named, _ transaction: borrowing Transaction)

    /// Begins an observation of a path to this member whose changes are observed in another form.
    /// Nil if the changes of the path show the delivered values.
    static func attach<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Value>,
        along links: [PathLink],
        to path: MemberPath<Model, Self>,
        of model: Model.Type,
        from root: Root
    ) -> ObservationToken?
}

/// The user's key path to a member. It begins at the `observedProperties` of a `Model`.
@usableFromInline
internal typealias MemberPath<Model: ConcurrentObservable, Member: PathMember> =
    any KeyPath<Model.Properties, Member.Named> & Sendable

extension PathMember {
    /// Finds the property in an object of `Model`. Evaluates the user's key path, so it is called
    /// under no lock. (P5)
    static func property<Model>(_ path: MemberPath<Model, Self>, of model: Model.Type, in object: PathObject)
        -> Observed<Stored>
    {
        property(of: (object as! Model).observedProperties[keyPath: path])
    }

    /// Casts a property that was found by such a key path.
    static func known(_ property: PathObject) -> Observed<Stored> { property as! Observed<Stored> }

    @usableFromInline
    static func attach<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Value>,
        along links: [PathLink],
        to path: MemberPath<Model, Self>,
        of model: Model.Type,
        from root: Root
    ) -> ObservationToken? { nil }

    @usableFromInline
    static func present(_ property: Observed<Stored>) -> (value: Value, version: UInt64) { seen(property.snapshot()) }

    /// Returns a stored value, as the path shows it, with its version.
    static func seen(_ stored: (value: Stored, version: UInt64)) -> (value: Value, version: UInt64) {
        (value(of: stored.value), stored.version)
    }
}

/// A property that a key path names as the one that keeps the values, or as a view of it.
@usableFromInline
internal protocol PathNameable: Sendable {
    associatedtype Stored: Sendable

    /// The property that keeps the values and delivers their changes.
    var stored: Observed<Stored> { get }

    /// Whether the body of a commit may not set the path.
    static var isReadOnly: Bool { get }

    /// Whether the property is weak: it does not keep its value alive.
    static var isWeak: Bool { get }
}

extension PathNameable {
    @usableFromInline static var isReadOnly: Bool { false }
    @usableFromInline static var isWeak: Bool { false }
}

extension Observed: PathNameable {
    @usableFromInline var stored: Observed<Value> { self }
}

extension ReadOnly: PathNameable {
    @usableFromInline var stored: Observed<Value> { property }
    @usableFromInline static var isReadOnly: Bool { true }
}

/// A weak property is named as the one of its stored references, which keep nothing alive.
extension WeakObserved: PathNameable {
    @usableFromInline var stored: Observed<WeakBox<Referent>> { storage }
    @usableFromInline static var isWeak: Bool { true }
}

/// A plain member: the path exposes its value unchanged.
@usableFromInline
internal enum PlainMember<Named: PathNameable>: PathMember {
    @usableFromInline static var isWeak: Bool { Named.isWeak }

    @usableFromInline
    static func property(of named: Named) -> Observed<Named.Stored> { named.stored }

    @inlinable
    static func value(of stored: Named.Stored) -> Named.Stored { stored }

    @usableFromInline
    static func setDraft(_ value: Named.Stored, of named: Named, _ transaction: borrowing Transaction) {
        if Named.isReadOnly { trapReadOnly() }
        transaction[named.stored] = value
    }
}

/// A plain member after an optional step: the path exposes its value as an optional.
@usableFromInline
internal enum OptionalMember<Named: PathNameable>: PathMember {
    @usableFromInline static var isWeak: Bool { false }

    @usableFromInline
    static func property(of named: Named) -> Observed<Named.Stored> { named.stored }

    @inlinable
    static func value(of stored: Named.Stored) -> Named.Stored? { .some(stored) }

    @usableFromInline
    static func setDraft(_ value: Named.Stored?, of named: Named, _ transaction: borrowing Transaction) {
        if Named.isReadOnly { trapReadOnly() }
        guard let value else { trapNil() }
        transaction[named.stored] = value
    }
}

private func trapNil() -> Never {
    fatalError(
        "ConcurrentObserve: the body of a commit set a path to nil whose last property cannot be nil. Set the optional step before it to nil, or set a value."
    )
}

private func trapReadOnly() -> Never {
    fatalError(
        "ConcurrentObserve: the body of a commit set a path whose last property is shown read-only. Make the property itself a member."
    )
}

/// A weak member: the path exposes its referent. Its observers receive the changes of the stored
/// references, with the referents in their place.
internal enum WeakMember<Referent: WeaklyObservable>: PathMember {
    typealias Named = WeakObserved<Referent>
    typealias Stored = WeakBox<Referent>
    typealias Value = Referent?

    static var isWeak: Bool { true }

    static func property(of named: WeakObserved<Referent>) -> Observed<WeakBox<Referent>> { named.storage }

    static func value(of stored: WeakBox<Referent>) -> Referent? { stored.referent }

    static func present(_ property: Observed<WeakBox<Referent>>) -> (value: Referent?, version: UInt64) {
        property.referent()
    }

    /// A change may wait for long. It waits as a reference that keeps nothing alive, and that may
    /// be copied and destroyed under any lock. The referents are looked up when it is delivered.
    /// (P5, P11)
    static func attach<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Referent?>,
        along links: [PathLink],
        to path: MemberPath<Model, Self>,
        of model: Model.Type,
        from root: Root
    ) -> ObservationToken? {
        let last = MemberStep<Model, PlainMember<WeakObserved<Referent>>>(path)
        let steps = _ObservedPath<Root, WeakBox<Referent>>(links: links, last: last, absent: WeakBox(nil))
        return Path(root, steps).attach(WeakObserved.seen(observer))
    }

    static func setDraft(_ value: Referent?, of named: WeakObserved<Referent>, _ transaction: borrowing Transaction) {
        transaction[named] = value
    }
}
