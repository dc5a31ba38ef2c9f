// SPDX-License-Identifier: Apache-2.0

// The function of a derived value can use a model in two ways. It can read the model's variables,
// which the derived value follows. Or it can use the model itself. Then the derived value does not
// follow the variables that the function reads from the model. The second use compiles only if the
// function asks for it: `get(engine)`, and `unfollowed(engine)` in a variable with
// `@ConcurrentDerived`.

// swift-format-ignore: NoLeadingUnderscores
/// A property, in the form in which the body of a variable with `@ConcurrentDerived` reads it: as
/// its value, or as a ``Followed`` if the value is a model. The macro makes it. Your code has no
/// use for it.
public struct _FollowedProperty<Property: ObservableProperty, Reading>: Sendable {
    @usableFromInline internal let property: Property

    @usableFromInline
    internal init(property: Property) { self.property = property }
}

extension _FollowedProperty where Reading == Property.Value {
    /// Wraps a property whose value is read as it is.
    @_disfavoredOverload
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension _FollowedProperty where Property.Value: ConcurrentObservable, Reading == Followed<Property.Value> {
    /// Wraps a property whose value is a model.
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension _FollowedProperty
where Property.Value: _OptionalConcurrentObservable, Reading == Followed<Property.Value.Wrapped>? {
    /// Wraps a property whose value is a model or nil.
    @inlinable
    public init(_ property: Property) { self.init(property: property) }
}

extension _FollowedProperty {
    /// Wraps a property whose value is an array of models.
    @inlinable
    public init<Element: ConcurrentObservable>(
        _ property: Property
    ) where Property.Value == [Element], Reading == [Followed<Element>] {
        self.init(property: property)
    }
}

extension Reader {
    /// Returns the value of the property.
    @_disfavoredOverload
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: _FollowedProperty<Property, Property.Value>
    ) -> Property.Value {
        self(property.property)
    }

    /// Returns the value of the property, a model, as a ``Followed``. The derived value follows
    /// what the function reads from it.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: _FollowedProperty<Property, Followed<Property.Value>>
    ) -> Followed<Property.Value> where Property.Value: ConcurrentObservable {
        follow(property.property)
    }

    /// Returns the model that is the value of the property; nil if there is none.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: _FollowedProperty<Property, Followed<Property.Value.Wrapped>?>
    ) -> Followed<Property.Value.Wrapped>? where Property.Value: _OptionalConcurrentObservable {
        follow(property.property)
    }

    /// Returns the models in the array that is the value of the property.
    @inlinable
    public borrowing func follow<Property: ObservableProperty, Element: ConcurrentObservable>(
        _ property: _FollowedProperty<Property, [Followed<Element>]>
    ) -> [Followed<Element>] where Property.Value == [Element] {
        follow(property.property)
    }

    /// Rejects the use of a model itself, because the derived value would not follow what the
    /// function reads from the model.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "a derived value does not follow what is read of a model that is used as itself: read its observed variables here, as in 'engine.rpm', or write 'unfollowed(engine)' if the model itself is the result, or is compared"
    )
    public borrowing func follow<Property: ObservableProperty, Reading>(
        _ property: _FollowedProperty<Property, Reading>
    ) -> Property.Value {
        fatalError("follow(_:) is unavailable")
    }
}

extension Followed {
    /// Rejects the use of a model itself, of an optional model or of an array of models, because
    /// the derived value would not follow what the function reads from the models.
    ///
    /// Overload resolution prefers any available member to an unavailable one. Therefore this
    /// member is available, and throws: the compiler rejects it where nothing may throw, and the
    /// deprecation message gives the cause. The overloads that return a `Followed` are preferred to
    /// this one.
    @_disfavoredOverload
    @available(
        *,
        deprecated,
        message:
            "a derived value does not follow what is read of a model that is used as itself: read its observed variables here, as in 'engine.gear.number' (before a closure, bind it: 'let gear = engine.gear'); if the model itself is the result, or is compared, write 'unfollowed(engine.gear)' in a variable with '@ConcurrentDerived', else 'get(engine.gear)'"
    )
    public subscript<Property: ObservableProperty>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> Property.Value where Property.Value: _HoldsModels {
        get throws { fatalError("ConcurrentObserve: a derived value does not follow a model that is used as itself.") }
    }
}

extension Followed {
    /// Rejects a member of a model that is neither an observed property nor one of the constants
    /// that the macro lists. A key path does not show whether the member is a plain `let` or a
    /// computed variable, and the derived value would not follow what a computed variable reads.
    /// Therefore both are rejected.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message:
            "the member is not observed, so that a derived value cannot follow it: if it never changes, read it of the model itself, as in 'get(engine).number', or in 'unfollowed(engine).number' in a variable with '@ConcurrentDerived'; else declare it as Observed"
    )
    public subscript<Member>(dynamicMember member: KeyPath<Model, Member>) -> Member {
        fatalError("the member is unavailable")
    }
}

extension Reader {
    /// Returns the model itself, for example to compare it, or to return it as the function's
    /// result. The derived value does not follow what the function reads from this model.
    @inlinable
    public borrowing func callAsFunction<Model: ConcurrentObservable>(_ model: Followed<Model>) -> Model {
        model.followedModel
    }

    /// Returns the model itself; nil if there is none. The derived value does not follow what the
    /// function reads from this model.
    @_disfavoredOverload
    @inlinable
    public borrowing func callAsFunction<Model: ConcurrentObservable>(_ model: Followed<Model>?) -> Model? {
        model?.followedModel
    }

    /// Returns the models themselves. The derived value does not follow what the function reads
    /// from these models.
    @inlinable
    public borrowing func callAsFunction<Model: ConcurrentObservable>(_ models: [Followed<Model>]) -> [Model] {
        models.map(\.followedModel)
    }
}
