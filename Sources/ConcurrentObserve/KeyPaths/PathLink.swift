// SPDX-License-Identifier: Apache-2.0

/// A step of a path before the last one: finds its property in an object, and the object that the
/// property leads to.
///
/// It has constants only: `PathObservation` keeps the state of an observation. As in `PathStep`, a
/// property is passed as an untyped object.
@usableFromInline
internal class PathLink: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    init() {}

    /// Whether the property is weak: it does not keep its value alive, so the path must not either.
    var isWeak: Bool { false }

    /// Finds the property in an object. Evaluates the user's key path, so it is called under no
    /// lock. (P5)
    func property(in object: PathObject) -> PathObject { preconditionFailure("a link finds its property") }

    /// The core that the property shares with its observers.
    func core(of property: PathObject) -> RegistryCore { preconditionFailure("a link knows its property") }

    /// Traps if the calling thread is in the body of the property's own `modify`, or of a commit that
    /// includes the property. (P5)
    func trapInsideBody(of property: PathObject) { preconditionFailure("a link knows its property") }

    /// The property as the member of a commit.
    func member(_ property: PathObject) -> any CommitMember { preconditionFailure("a link knows its property") }

    /// Returns the object that the property leads to in the body of a commit: the one that the body
    /// has set, or else the present one.
    func object(of property: PathObject, in transaction: borrowing Transaction) -> PathObject? {
        preconditionFailure("a link knows its property")
    }

    /// Registers an observer. Returns the object that the property leads to at that moment, and the
    /// property's version.
    func publish(_ observer: VersionedObserver, of property: PathObject) -> (object: PathObject?, version: UInt64) {
        preconditionFailure("a link knows its property")
    }

    /// Returns the object that the property leads to at present, and the property's version.
    func sample(_ property: PathObject) -> (object: PathObject?, version: UInt64) {
        preconditionFailure("a link knows its property")
    }
}

/// The link through a member of `Model`.
internal final class MemberLink<Model: ConcurrentObservable, Member: PathMember, Traversal: PathTraversal>: PathLink,
    @unchecked Sendable
where Member.Value == Traversal.Value {
    // Unchecked: constants only.
    private let path: MemberPath<Model, Member>

    init(_ path: MemberPath<Model, Member>) {
        self.path = path
        super.init()
    }

    override var isWeak: Bool { Member.isWeak }

    override func property(in object: PathObject) -> PathObject { Member.property(path, of: Model.self, in: object) }

    override func core(of property: PathObject) -> RegistryCore { Member.known(property).observers.core() }

    override func trapInsideBody(of property: PathObject) {
        let known = Member.known(property)
        known.mutation.trapInsideBody(.observe, known.cell.latch.owner)
    }

    override func member(_ property: PathObject) -> any CommitMember { Member.known(property) }

    override func object(of property: PathObject, in transaction: borrowing Transaction) -> PathObject? {
        Traversal.object(in: Member.value(of: transaction[Member.known(property)]))
    }

    override func publish(_ observer: VersionedObserver, of property: PathObject) -> (
        object: PathObject?, version: UInt64
    ) {
        passed(Member.known(property).attach(observer) { $0 })
    }

    override func sample(_ property: PathObject) -> (object: PathObject?, version: UInt64) {
        let (value, version) = Member.present(Member.known(property))
        return (Traversal.object(in: value), version)
    }

    private func passed(_ stored: (value: Member.Stored, version: UInt64)) -> (object: PathObject?, version: UInt64) {
        let (value, version) = Member.seen(stored)
        return (Traversal.object(in: value), version)
    }
}

/// Finds the object at which a path continues from a step's value.
@usableFromInline
internal protocol PathTraversal {
    associatedtype Value: Sendable

    /// The object that the value leads to, if any.
    static func object(in value: Value) -> PathObject?
}

/// Continues at an object.
@usableFromInline
internal enum ThroughObject<Value: ConcurrentObservable>: PathTraversal {
    @usableFromInline
    static func object(in value: Value) -> PathObject? { value }
}

/// Continues at an optional object, unless it is nil.
@usableFromInline
internal enum ThroughOptional<Value: OptionalConcurrentObservable & Sendable>: PathTraversal {
    @usableFromInline
    static func object(in value: Value) -> PathObject? { value.wrapped }
}
