// SPDX-License-Identifier: Apache-2.0

// What a model is used as, where a derived value reads it: as something whose variables are read, which is
// followed, or as itself, which nothing follows. The latter does not compile, unless it says so: `unfollowed(engine)`.

/// A property as the body of a variable with `@ConcurrentDerived` reads it: as its value, or, if that is a model, as what follows it.
/// The macro makes it: code of yours has no use for it.
public struct FollowedProperty<Property: ObservableProperty, Reading>: Sendable {
    @usableFromInline internal let property: Property

    @usableFromInline
    internal init(property: Property) { self.property = property }
}

extension FollowedProperty where Reading == Property.Value {
    /// A property whose value is read as it is.
    @_disfavoredOverload
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension FollowedProperty where Property.Value: ConcurrentObservable, Reading == Followed<Property.Value> {
    /// A property whose value is a model.
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension FollowedProperty
where Property.Value: OptionalConcurrentObservable, Reading == Followed<Property.Value.Wrapped>? {
    /// A property whose value is a model or nil.
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension FollowedProperty {
    /// A property whose value is an array of models.
    @inlinable
    public init<Element: ConcurrentObservable>(
        _ property: Property
    ) where Property.Value == [Element], Reading == [Followed<Element>] {
        self.init(property: property)
    }
}

extension Reader {
    /// The value of the property.
    @_disfavoredOverload
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: FollowedProperty<Property, Property.Value>
    ) -> Property.Value {
        self(property.property)
    }

    /// The model that is the value of the property.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: FollowedProperty<Property, Followed<Property.Value>>
    ) -> Followed<Property.Value> where Property.Value: ConcurrentObservable {
        follow(property.property)
    }

    /// The model that is the value of the property, if there is one.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: FollowedProperty<Property, Followed<Property.Value.Wrapped>?>
    ) -> Followed<Property.Value.Wrapped>? where Property.Value: OptionalConcurrentObservable {
        follow(property.property)
    }

    /// The models in the array that is the value of the property.
    @inlinable
    public borrowing func follow<Property: ObservableProperty, Element: ConcurrentObservable>(
        _ property: FollowedProperty<Property, [Followed<Element>]>
    ) -> [Followed<Element>] where Property.Value == [Element] {
        follow(property.property)
    }

    /// A model as itself: not there, since what is read of it would not be followed.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "a derived value does not follow what is read of a model that is used as itself: read its observed variables here, as in 'engine.rpm', or write 'unfollowed(engine)' if the model itself is the result, or is compared"
    )
    public borrowing func follow<Property: ObservableProperty, Reading>(
        _ property: FollowedProperty<Property, Reading>
    ) -> Property.Value {
        fatalError("follow(_:) is unavailable")
    }
}

/// What reading a model as itself throws, of a followed one whose value it is: so that it does not compile.
public struct UnfollowedModel: Error {}

extension Followed {
    /// A model as itself, or an optional or an array of them: refused, since what is read of it would not be followed.
    ///
    /// The compiler prefers whatever is available to what is not. This is available, and throws, where nothing may: the compiler
    /// says so, and warns of the cause. What follows is more special, and preferred.
    @_disfavoredOverload
    @available(
        *,
        deprecated,
        message:
            "a derived value does not follow what is read of a model that is used as itself: read its observed variables here, as in 'engine.gear.number' (before a closure, bind it: 'let gear = engine.gear'), or write 'unfollowed(engine.gear)' if the model itself is the result, or is compared"
    )
    public subscript<Property: ObservableProperty>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> Property.Value where Property.Value: HoldsModels {
        get throws(UnfollowedModel) { throw UnfollowedModel() }
    }
}

extension Followed {
    /// A member that is neither observed nor a `Constant` does not compile. A key path to a plain `let` looks like one to a computed
    /// variable, and what a computed variable reads would not be followed.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "the member is not observed, so that a derived value cannot follow it: if it never changes, declare it as a Constant, or read it of the model itself, as in 'unfollowed(engine).number'; else declare it as Observed"
    )
    public subscript<Member>(dynamicMember member: KeyPath<Model, Member>) -> Member {
        fatalError("the member is unavailable")
    }
}

/// The model itself, in the function of a derived value: as its result, or to compare it. What is read of it, the derived value does not
/// follow.
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ model: Followed<Model>) -> Model { model.followedModel }

/// The model itself, if there is one. What is read of it, the derived value does not follow.
@_disfavoredOverload
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ model: Followed<Model>?) -> Model? { model?.followedModel }

/// The models themselves. What is read of them, the derived value does not follow.
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ models: [Followed<Model>]) -> [Model] {
    models.map(\.followedModel)
}

/// The model: in a variable with `@ConcurrentDerived`, which reads it where nothing follows.
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ model: Model) -> Model { model }

/// The model, if there is one: in a variable with `@ConcurrentDerived`, which reads it where nothing follows.
@_disfavoredOverload
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ model: Model?) -> Model? { model }

/// The models: in a variable with `@ConcurrentDerived`, which reads them where nothing follows.
@inlinable
public func unfollowed<Model: ConcurrentObservable>(_ models: [Model]) -> [Model] { models }
