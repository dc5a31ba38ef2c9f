// SPDX-License-Identifier: Apache-2.0

/// A model, in the form in which the function of a derived value reads it. The derived value
/// depends on each variable of the model that the function reads.
///
/// ```swift
/// let hot = Derived { get in get.follow(car.engine).rpm > 6_000 }
/// ```
///
/// The value depends on `engine` and on the `rpm` of the present engine. The members of a
/// `Followed` are the values of the model's observed properties, and of the constants of a class
/// with `@ConcurrentObservable`. A member that is a model is a `Followed`, too. `get(engine)` on a
/// `Followed` returns the model itself. A `Followed` belongs to one run of the function, as the
/// reader does. Using it after the run, or on another thread, traps.
@dynamicMemberLookup
public struct Followed<Model: ConcurrentObservable> {
    // Not public: a public member would hide a property of the model that has the same name.
    @usableFromInline internal let followedModel: Model
    @usableFromInline internal let followedCollector: Collector
    @usableFromInline internal let followedRun: Int

    @usableFromInline
    internal init(_ model: Model, _ collector: Collector) {
        (followedModel, followedCollector, followedRun) = (model, collector, collector.outcome.run)
    }

    @inlinable
    internal func followedRead<Property: ObservableProperty>(
        _ member: KeyPath<Model.Properties, Property>
    ) -> Property.Value {
        followedCollector.trapOutside(run: followedRun)
        return followedCollector.read(followedModel.observedProperties[keyPath: member])
    }

    /// The value of a property of the model.
    @_disfavoredOverload
    @inlinable
    public subscript<Property: ObservableProperty>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> Property.Value {
        followedRead(member)
    }

    /// The model that is the value of one of this model's properties.
    @inlinable
    public subscript<Property: ObservableProperty>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> Followed<Property.Value> where Property.Value: ConcurrentObservable {
        Followed<Property.Value>(followedRead(member), followedCollector)
    }

    /// The model that is the value of one of this model's properties; nil if there is none.
    @inlinable
    public subscript<Property: ObservableProperty>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> Followed<Property.Value.Wrapped>? where Property.Value: _OptionalConcurrentObservable {
        followedRead(member)._wrapped.map { Followed<Property.Value.Wrapped>($0, followedCollector) }
    }

    /// The models in an array that is the value of one of this model's properties.
    @inlinable
    public subscript<Property: ObservableProperty, Element: ConcurrentObservable>(
        dynamicMember member: KeyPath<Model.Properties, Property>
    ) -> [Followed<Element>] where Property.Value == [Element] {
        followedRead(member).map { Followed<Element>($0, followedCollector) }
    }
}

extension Reader {
    /// Returns the model that is the value of a property. The derived value follows the model's
    /// properties that the function reads. Never waits.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: Property
    ) -> Followed<Property.Value> where Property.Value: ConcurrentObservable {
        Followed(self(property), collector)
    }

    /// Returns the model that is the value of a property; nil if there is none. The derived value
    /// follows the model's properties that the function reads. Never waits.
    @inlinable
    public borrowing func follow<Property: ObservableProperty>(
        _ property: Property
    ) -> Followed<Property.Value.Wrapped>? where Property.Value: _OptionalConcurrentObservable {
        guard let model = self(property)._wrapped else { return nil }
        return Followed(model, collector)
    }

    /// Returns the models in an array that is the value of a property. The derived value follows
    /// the models' properties that the function reads. Never waits.
    ///
    /// - Complexity: O(*n*).
    @inlinable
    public borrowing func follow<Property: ObservableProperty, Element: ConcurrentObservable>(
        _ property: Property
    ) -> [Followed<Element>] where Property.Value == [Element] {
        let collector = collector
        return self(property).map { Followed($0, collector) }
    }
}
