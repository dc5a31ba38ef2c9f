// SPDX-License-Identifier: Apache-2.0

/// A step of a path before the last one: the step, and the way from its value to the object at
/// which the path continues.
///
/// It has constants only: `PathObservation` keeps the state of an observation.
@usableFromInline
internal class PathLink: @unchecked Sendable {
    // Unchecked: constants only.
    /// The step, whatever the type of its values.
    let place: PathPlace

    init(_ place: PathPlace) { self.place = place }

    /// Finds the property in an object. Evaluates the user's key path, so it is called under no
    /// lock. (P5)
    final func property(in object: PathObject) -> PathObject { place.property(in: object) }

    /// Returns the object that the property leads to in the body of a commit: the one that the body
    /// has set, or else the present one.
    func object(of property: PathObject, in transaction: borrowing Transaction) -> PathObject? {
        preconditionFailure("a link knows its step")
    }

    /// Registers an observer. Returns the object that the property leads to at that moment, and the
    /// property's version.
    func attach(_ observer: VersionedObserver, of property: PathObject) -> (object: PathObject?, version: UInt64) {
        preconditionFailure("a link knows its step")
    }

    /// Returns the object that the property leads to at present, and the property's version.
    func sample(_ property: PathObject) -> (object: PathObject?, version: UInt64) {
        preconditionFailure("a link knows its step")
    }
}

/// The link that takes the place of a step when the path gets one more.
@usableFromInline
internal final class PassedStep<Traversal: PathTraversal>: PathLink, @unchecked Sendable {
    // Unchecked: constants only.
    private let step: PathStep<Traversal.Value>

    @usableFromInline
    init(_ step: PathStep<Traversal.Value>) {
        self.step = step
        super.init(step)
    }

    override func object(of property: PathObject, in transaction: borrowing Transaction) -> PathObject? {
        Traversal.object(in: step.draft(of: property, in: transaction))
    }

    override func attach(_ observer: VersionedObserver, of property: PathObject) -> (
        object: PathObject?, version: UInt64
    ) {
        let (value, version) = step.attach(observer, of: property)
        return (Traversal.object(in: value), version)
    }

    override func sample(_ property: PathObject) -> (object: PathObject?, version: UInt64) {
        let (value, version) = step.snapshot(of: property)
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
internal enum ThroughOptional<Value: _OptionalConcurrentObservable & Sendable>: PathTraversal {
    @usableFromInline
    static func object(in value: Value) -> PathObject? { value._wrapped }
}
