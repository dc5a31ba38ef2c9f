// SPDX-License-Identifier: Apache-2.0

/// An object on a path.
@usableFromInline
internal typealias PathObject = any AnyObject & Sendable

/// A step of a path, whatever the type of its values: finds the property in an object.
///
/// A property is passed as an untyped object, which only the step that found it can use.
@usableFromInline
internal class PathPlace: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    init() {}

    /// Whether the property is weak: it does not keep its value alive, so the path must not either.
    var isWeak: Bool { false }

    /// Finds the property in an object. Evaluates the user's key path, so it is called under no
    /// lock. (P5)
    func property(in object: PathObject) -> PathObject { preconditionFailure("a step finds its property") }

    /// The core that the property shares with its observers.
    func core(of property: PathObject) -> RegistryCore { preconditionFailure("a step knows its property") }

    /// Traps if the calling thread is in the body of the property's own `modify`, or of a commit
    /// that includes the property. (P5)
    func trapInsideBody(of property: PathObject) { preconditionFailure("a step knows its property") }

    /// The property as the member of a commit.
    func member(_ property: PathObject) -> any CommitMember { preconditionFailure("a step knows its property") }
}

/// A step whose property is observed as one of `Value`. The last step of a path is one. When the
/// path gets one more step, a `PathLink` takes the place of this one.
@usableFromInline
internal class PathStep<Value: Sendable>: PathPlace, @unchecked Sendable {
    // Unchecked: subclasses have constants only.

    /// Finds the property in an object, if it is an `Observed<Value>` and not only shown as one.
    /// Under no lock. (P5)
    @usableFromInline
    func direct(in object: PathObject) -> Observed<Value>? { nil }

    /// Returns the draft of the property. In the body of a commit.
    func draft(of property: PathObject, in transaction: borrowing Transaction) -> Value {
        preconditionFailure("a step knows its property")
    }

    /// Sets the draft of the property in an object. In the body of a commit.
    func setDraft(_ value: Value, in object: PathObject, of transaction: borrowing Transaction) {
        preconditionFailure("a step finds its property")
    }

    /// Gives an unregistered observer of the property the closure that passes its changes on to
    /// `leaf`.
    func connect(_ observer: Observer, to leaf: PathLeaf<Value>) { preconditionFailure("a step knows its property") }

    /// Gives an unregistered observer of the property a receiver that puts its changes into a
    /// mailbox.
    func connect(_ observer: Observer, to leaf: PathLeaf<Value>, _ receiver: ChangeReceiver<Value>) {
        preconditionFailure("a step knows its property")
    }

    /// Registers an observer. Returns the property's value and version at that moment.
    func attach(_ observer: VersionedObserver, of property: PathObject) -> (value: Value, version: UInt64) {
        preconditionFailure("a step knows its property")
    }

    /// The property's present value and version.
    func snapshot(of property: PathObject) -> (value: Value, version: UInt64) {
        preconditionFailure("a step knows its property")
    }

    /// Cuts a leaf at the present version, unless a commit has cut it. Returns the last value that
    /// belongs to the path, and its version. See `Observed.cut(at:)`.
    func cut(_ leaf: PathLeaf<Value>, of property: PathObject) -> (value: Value, version: UInt64) {
        preconditionFailure("a step knows its property")
    }

    /// Begins an observation of the path along `links` with this step, whose changes are observed
    /// in another form. Nil if they show the delivered values.
    func attach<Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Value>,
        along links: [PathLink],
        from root: Root
    ) -> ObservationToken? { nil }
}

/// The step to a member of `Model`.
@usableFromInline
internal final class MemberStep<Model: ConcurrentObservable, Member: PathMember>: PathStep<Member.Value>,
    @unchecked Sendable
{
    // Unchecked: constants only.
    private let path: MemberPath<Model, Member>
    private let connection: Connection

    /// Gives an observer the closure that passes its changes on to a leaf.
    @usableFromInline typealias Connection = @Sendable (Observer, PathLeaf<Member.Value>) -> Void

    @inlinable
    convenience init(_ path: MemberPath<Model, Member>) {
        // The closure is made here, where the client's module knows the types: connect(_:to:) is
        // never specialised.
        self.init(path) { observer, leaf in
            observer.setCallback(Callback<Change<Member.Stored>> { change in leaf.pass(change, of: Member.self) })
        }
    }

    @usableFromInline
    init(_ path: MemberPath<Model, Member>, _ connection: @escaping Connection) {
        self.path = path
        self.connection = connection
        super.init()
    }

    override var isWeak: Bool { Member.isWeak }

    override func property(in object: PathObject) -> PathObject { Member.property(path, of: Model.self, in: object) }

    override func direct(in object: PathObject) -> Observed<Member.Value>? {
        Member.isWeak ? nil : property(in: object) as? Observed<Member.Value>
    }

    override func core(of property: PathObject) -> RegistryCore { Member.known(property).observers.core() }

    override func trapInsideBody(of property: PathObject) {
        let known = Member.known(property)
        known.mutation.trapInsideBody(.observe, known.cell.latch.owner)
    }

    override func member(_ property: PathObject) -> any CommitMember { Member.known(property) }

    override func draft(of property: PathObject, in transaction: borrowing Transaction) -> Member.Value {
        Member.value(of: transaction[Member.known(property)])
    }

    override func setDraft(_ value: Member.Value, in object: PathObject, of transaction: borrowing Transaction) {
        Member.setDraft(value, of: (object as! Model).observedProperties[keyPath: path], transaction)
    }

    override func connect(_ observer: Observer, to leaf: PathLeaf<Member.Value>) { connection(observer, leaf) }

    override func connect(
        _ observer: Observer,
        to leaf: PathLeaf<Member.Value>,
        _ receiver: ChangeReceiver<Member.Value>
    ) {
        let receiver = ChangeReceiver<Member.Stored>(
            enqueue: { change in leaf.put(change, of: Member.self, into: receiver) },
            wake: receiver.wake,
            drain: receiver.drain
        )
        observer.setContent(HeldObject(receiver), of: .mailboxes())
    }

    override func attach(
        _ observer: VersionedObserver,
        of property: PathObject
    ) -> (value: Member.Value, version: UInt64) {
        Member.seen(Member.known(property).attach(observer) { $0 })
    }

    override func snapshot(of property: PathObject) -> (value: Member.Value, version: UInt64) {
        Member.present(Member.known(property))
    }

    override func cut(
        _ leaf: PathLeaf<Member.Value>,
        of property: PathObject
    ) -> (value: Member.Value, version: UInt64) {
        Member.known(property).cut(at: leaf.limit).map(Member.seen) ?? leaf.takeLast()
    }

    override func attach<Root: ConcurrentObservable>(
        _ observer: PropertyObserver<Member.Value>,
        along links: [PathLink],
        from root: Root
    ) -> ObservationToken? {
        Member.attach(observer, along: links, to: path, of: Model.self, from: root)
    }
}
