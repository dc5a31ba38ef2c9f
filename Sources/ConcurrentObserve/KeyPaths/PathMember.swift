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

    /// Returns the path along `links` to this member, in the form in which a mailbox keeps its
    /// changes; nil if the mailbox keeps them as they are.
    static func kept<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ path: MemberPath<Model, Self>,
        of model: Model.Type,
        after links: [PathLink],
        from root: Root.Type
    ) -> (any KeptPath<Root, Value>)?
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
    static func kept<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ path: MemberPath<Model, Self>,
        of model: Model.Type,
        after links: [PathLink],
        from root: Root.Type
    ) -> (any KeptPath<Root, Value>)? { nil }

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
}

extension Observed: PathNameable {
    @usableFromInline var stored: Observed<Value> { self }
    @usableFromInline static var isReadOnly: Bool { false }
}

extension ReadOnly: PathNameable {
    @usableFromInline var stored: Observed<Value> { property }
    @usableFromInline static var isReadOnly: Bool { true }
}

/// A plain member: the path exposes its value unchanged.
@usableFromInline
internal enum PlainMember<Named: PathNameable>: PathMember {
    @usableFromInline static var isWeak: Bool { false }

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

/// A weak member: the path exposes its referent.
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

    static func kept<Model: ConcurrentObservable, Root: ConcurrentObservable>(
        _ path: MemberPath<Model, Self>,
        of model: Model.Type,
        after links: [PathLink],
        from root: Root.Type
    ) -> (any KeptPath<Root, Referent?>)? {
        return WeakPath(path, of: model, after: links)
    }

    static func setDraft(_ value: Referent?, of named: WeakObserved<Referent>, _ transaction: borrowing Transaction) {
        transaction[named] = value
    }
}

/// A weak member, whose stored references the path exposes: they keep nothing alive.
internal enum BoxMember<Referent: WeaklyObservable>: PathMember {
    typealias Named = WeakObserved<Referent>
    typealias Stored = WeakBox<Referent>
    typealias Value = WeakBox<Referent>

    static var isWeak: Bool { true }

    static func property(of named: WeakObserved<Referent>) -> Observed<WeakBox<Referent>> { named.storage }

    static func value(of stored: WeakBox<Referent>) -> WeakBox<Referent> { stored }

    static func setDraft(
        _ value: WeakBox<Referent>,
        of named: WeakObserved<Referent>,
        _ transaction: borrowing Transaction
    ) {
        preconditionFailure("a path is seen as one of boxes by mailboxes alone")
    }
}

// MARK: - Kept paths

/// A path whose changes wait in a mailbox in another form than the delivered one.
///
/// A change may wait for long. A change of a weak property waits as a reference that keeps nothing
/// alive, and that may be copied and destroyed under any lock. The referents are looked up when the
/// change is delivered. (P5, P11)
@usableFromInline
internal protocol KeptPath<Root, Value>: Sendable {
    associatedtype Root: ConcurrentObservable
    /// The type of the delivered values.
    associatedtype Value: Sendable
    /// The type of the values that the mailbox keeps.
    associatedtype Kept: Sendable

    /// The path to the same property, with the kept values.
    var path: _ObservedPath<Root, Kept> { get }

    /// Returns the function that converts a kept change to the one that `observer` receives. Call
    /// that function only where user code may run.
    static func seeing(for observer: PropertyObserver<Value>) -> @Sendable (Change<Kept>) -> Change<Value>
}

extension _ObservedPath {
    /// The form of the path for mailboxes and for observers that compare values; nil if these use
    /// the delivered values.
    @usableFromInline
    internal var kept: (any KeptPath<Root, Value>)? { last?.kept(after: links, from: Root.self) }
}

/// A path that ends in a weak property.
internal struct WeakPath<Root: ConcurrentObservable, Referent: WeaklyObservable>: KeptPath {
    let path: _ObservedPath<Root, WeakBox<Referent>>

    init<Model>(
        _ member: MemberPath<Model, BoxMember<Referent>>,
        of model: Model.Type,
        after links: [PathLink]
    ) {
        path = _ObservedPath(
            links: links,
            last: MemberStep<Model, BoxMember<Referent>>(member),
            absent: WeakBox(nil)
        )
    }

    static func seeing(
        for observer: PropertyObserver<Referent?>
    ) -> @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> { observer.seeing() }
}

extension KeptPath {
    /// Begins an observation whose changes stay in the kept form until they are delivered.
    @usableFromInline
    internal func attach(_ observer: PropertyObserver<Value>, from root: Root) -> ObservationToken {
        let see = Self.seeing(for: observer)
        return Path(root, path).attach(observer.pulledBack { see($0) })
    }
}
