// SPDX-License-Identifier: Apache-2.0

/// An object on a path.
@usableFromInline
internal typealias PathObject = any AnyObject & Sendable

/// A property on a path, whatever the type of its values. Only the step that found it knows the
/// type.
internal protocol PathProperty: CommitMember {
    /// The core that the property shares with its observers.
    var sharedCore: RegistryCore { get }

    /// Traps if the calling thread is in the body of the property's own `modify`, or of a commit
    /// that includes the property. (P5)
    func trapInsideBody()
}

extension Observed: PathProperty {
    var sharedCore: RegistryCore { observers.core() }

    func trapInsideBody() { mutation.trapInsideBody(.observe, cell.latch.owner) }
}

/// Traps. It is the body of the members that each subclass below overrides.
private func overridden() -> Never { preconditionFailure("a step of a path has a type") }

/// The last step of a path. The path observes the step's property as a property of `Value`. When
/// the path gets one more step, a `PathLink` takes the place of this step.
@usableFromInline
internal class PathStep<Value: Sendable>: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    init() {}

    /// Whether the property is weak: it does not keep its value alive, so the path must not keep it
    /// alive either.
    var isWeak: Bool { overridden() }

    /// Finds the property in an object. Evaluates the user's key path, so it is called under no
    /// lock. (P5)
    func property(in object: PathObject) -> any PathProperty { overridden() }

    /// Finds the property in an object. Returns nil if it is not an `Observed<Value>`, but only
    /// shown as one. It is called under no lock. (P5)
    @usableFromInline
    func direct(in object: PathObject) -> Observed<Value>? { overridden() }

    /// Returns the draft of the property. It is called in the body of a commit.
    func draft(of property: any PathProperty, in transaction: borrowing Transaction) -> Value { overridden() }

    /// Sets the draft of the property in an object. It is called in the body of a commit.
    func setDraft(_ value: Value, in object: PathObject, of transaction: borrowing Transaction) { overridden() }

    /// Gives an observer of the property, before it is registered, a closure that passes the
    /// changes on to `leaf`, or, for a mailbox, a receiver that does.
    func connect(_ observer: Observer, to leaf: PathLeaf<Value>, _ receiver: ChangeReceiver<Value>?) { overridden() }

    /// A value of the property, as the path shows it, and its version.
    typealias Shown = (value: Value, version: UInt64)

    /// Registers an observer. Returns the property's value at that moment.
    func attach(_ observer: VersionedObserver, of property: any PathProperty) -> Shown { overridden() }

    /// Returns the property's present value and its version.
    func snapshot(of property: any PathProperty) -> Shown { overridden() }

    /// Makes the property's present version the last one that `leaf` delivers, unless a commit has
    /// set a last version already. Returns the last value that belongs to the path, and its
    /// version. See `Observed.cut(at:)`.
    func cut(_ leaf: PathLeaf<Value>, of property: any PathProperty) -> Shown { overridden() }

    /// Begins the observation of the path that leads along `links` and ends with this step, if the
    /// step needs a form of its own for changes that wait: see `WeakStep`. Returns nil for other
    /// steps: then the caller begins the observation.
    func attach<Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Value>,
        along links: [PathLink],
        from root: Root
    ) -> ObservationToken? { nil }
}

/// The step to a member of `Model`.
@usableFromInline
internal class MemberStep<Model: ConcurrentObservable, Member: PathMember>: PathStep<Member.Value>,
    @unchecked Sendable
{
    // Unchecked: constants only.
    /// The user's key path to the member. It begins at the `observedProperties` of a `Model`.
    fileprivate final let path: MemberPath
    private final let connection: Connection

    @usableFromInline typealias MemberPath = any KeyPath<Model.Properties, Member.Named> & Sendable
    /// Gives an observer the closure that passes its changes on to a leaf.
    @usableFromInline typealias Connection = @Sendable (Observer, PathLeaf<Member.Value>) -> Void

    @inlinable
    convenience init(_ path: MemberPath) {
        // The closure is made here, where the client's module knows the types: connect(_:to:_:) is
        // never specialised.
        self.init(path) { observer, leaf in
            observer.setCallback(Callback<Change<Member.Stored>> { change in leaf.pass(change, of: Member.self) })
        }
    }

    @usableFromInline
    init(_ path: MemberPath, _ connection: @escaping Connection) {
        (self.path, self.connection) = (path, connection)
    }

    private final func named(in object: PathObject) -> Member.Named {
        (object as! Model).observedProperties[keyPath: path]
    }

    fileprivate final func known(_ property: any PathProperty) -> Observed<Member.Stored> {
        property as! Observed<Member.Stored>
    }

    private final func shown(_ stored: (value: Member.Stored, version: UInt64)) -> Shown {
        (Member.value(of: stored.value), stored.version)
    }

    override var isWeak: Bool { Member.Named.isWeak }

    override func property(in object: PathObject) -> any PathProperty { named(in: object).stored }

    override func direct(in object: PathObject) -> Observed<Member.Value>? {
        isWeak ? nil : property(in: object) as? Observed<Member.Value>
    }

    override func draft(of property: any PathProperty, in transaction: borrowing Transaction) -> Member.Value {
        Member.value(of: transaction[known(property)])
    }

    override func setDraft(_ value: Member.Value, in object: PathObject, of transaction: borrowing Transaction) {
        Member.setDraft(value, of: named(in: object), transaction)
    }

    override func connect(
        _ observer: Observer,
        to leaf: PathLeaf<Member.Value>,
        _ receiver: ChangeReceiver<Member.Value>?
    ) {
        guard let receiver else { return connection(observer, leaf) }
        let ofStored = ChangeReceiver<Member.Stored>(
            enqueue: { change in leaf.put(change, of: Member.self, into: receiver) },
            wake: receiver.wake,
            drain: receiver.drain
        )
        observer.setContent(HeldObject(ofStored), of: .mailboxes())
    }

    override func attach(_ observer: VersionedObserver, of property: any PathProperty) -> Shown {
        shown(known(property).attach(observer) { $0 })
    }

    override func snapshot(of property: any PathProperty) -> Shown { shown(known(property).snapshot()) }

    override func cut(_ leaf: PathLeaf<Member.Value>, of property: any PathProperty) -> Shown {
        known(property).cut(at: leaf.limit).map(shown) ?? leaf.takeLast()
    }
}

/// The step to a weak member of `Model`.
internal final class WeakStep<Model: ConcurrentObservable, Referent: WeaklyObservable>:
    MemberStep<Model, WeakMember<Referent>>, @unchecked Sendable
{
    override func snapshot(of property: any PathProperty) -> Shown { known(property).referent() }

    /// Begins an observation whose changes wait as references that keep nothing alive, because a
    /// change may wait for long. Such a reference may be copied and destroyed under any lock. The
    /// referents are looked up when the change is delivered. (P5, P11)
    override func attach<Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Referent?>,
        along links: [PathLink],
        from root: Root
    ) -> ObservationToken? {
        let last = MemberStep<Model, PlainMember<WeakObserved<Referent>>>(path)
        let steps = _ObservedPath<Root, WeakBox<Referent>>(links: links, last: last, absent: WeakBox(nil))
        return Path(root, steps).attach(WeakObserved.seen(observer))
    }
}

/// A step of a path, other than the last one. It finds the step's property, and the object that the
/// property's value leads to. The next step starts at that object.
///
/// The link has constants only: `PathObservation` keeps the state of an observation.
@usableFromInline
internal class PathLink: @unchecked Sendable {
    // Unchecked: the subclass has constants only.
    /// Whether the property is weak: it does not keep its value alive, so the path must not keep it
    /// alive either.
    var isWeak: Bool { overridden() }

    /// Finds the property in an object. Evaluates the user's key path, so it is called under no
    /// lock. (P5)
    func property(in object: PathObject) -> any PathProperty { overridden() }

    /// Returns the object that the property leads to in the body of a commit: the object that the
    /// body has set, or else the present one. Nil if there is none.
    func object(of property: any PathProperty, in transaction: borrowing Transaction) -> PathObject? { overridden() }

    /// An object that a property leads to, and the property's version.
    typealias Sample = (object: PathObject?, version: UInt64)

    /// Registers an observer. Returns the object that the property leads to at that moment.
    func attach(_ observer: VersionedObserver, of property: any PathProperty) -> Sample { overridden() }

    /// Returns the object that the property leads to at present.
    func sample(_ property: any PathProperty) -> Sample { overridden() }
}

/// The link that takes the place of a step when the path gets one more step.
@usableFromInline
internal final class PassedStep<Value: Sendable>: PathLink, @unchecked Sendable {
    // Unchecked: constants only.
    private let step: PathStep<Value>
    /// Returns the object that a value leads to, if any.
    private let follow: @Sendable (Value) -> PathObject?

    @usableFromInline
    init(_ step: PathStep<Value>, _ follow: @escaping @Sendable (Value) -> PathObject?) {
        (self.step, self.follow) = (step, follow)
    }

    override var isWeak: Bool { step.isWeak }

    override func property(in object: PathObject) -> any PathProperty { step.property(in: object) }

    override func object(of property: any PathProperty, in transaction: borrowing Transaction) -> PathObject? {
        follow(step.draft(of: property, in: transaction))
    }

    override func attach(_ observer: VersionedObserver, of property: any PathProperty) -> Sample {
        followed(step.attach(observer, of: property))
    }

    override func sample(_ property: any PathProperty) -> Sample { followed(step.snapshot(of: property)) }

    private func followed(_ present: (value: Value, version: UInt64)) -> Sample {
        (follow(present.value), present.version)
    }
}
