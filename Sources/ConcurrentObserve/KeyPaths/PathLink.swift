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
internal final class PassedStep<Value: Sendable>: PathLink, @unchecked Sendable {
    // Unchecked: constants only.
    private let step: PathStep<Value>
    /// Returns the object that a value leads to, if any.
    private let follow: @Sendable (Value) -> PathObject?

    @usableFromInline
    init(_ step: PathStep<Value>, _ follow: @escaping @Sendable (Value) -> PathObject?) {
        (self.step, self.follow) = (step, follow)
        super.init(step)
    }

    override func object(of property: PathObject, in transaction: borrowing Transaction) -> PathObject? {
        follow(step.draft(of: property, in: transaction))
    }

    override func attach(_ observer: VersionedObserver, of property: PathObject) -> (
        object: PathObject?, version: UInt64
    ) {
        let (value, version) = step.attach(observer, of: property)
        return (follow(value), version)
    }

    override func sample(_ property: PathObject) -> (object: PathObject?, version: UInt64) {
        let (value, version) = step.snapshot(of: property)
        return (follow(value), version)
    }
}
