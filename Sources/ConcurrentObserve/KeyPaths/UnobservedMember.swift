// SPDX-License-Identifier: Apache-2.0

/// A member that a path names and that cannot be observed: a plain `let`, a computed property, a registry.
///
/// It exists only for the compiler's messages. Without it, the compiler would say of such a path
/// only that no subscript matches.
public struct UnobservedMember<Value> {
    private init() {}
}

extension ObservedPath where Value: ConcurrentObservable {
    /// Matches a member that cannot be observed, so that the compiler can say so. It is never
    /// called.
    @_disfavoredOverload
    public subscript<Member>(dynamicMember member: KeyPath<Value.Properties, Member>) -> UnobservedMember<Member> {
        fatalError("ConcurrentObserve: a path ends in a member that is not observed. Declare it as Observed.")
    }
}

extension ConcurrentObservable {
    /// Unavailable: the path ends in a member that is not `Observed`, `WeakObserved` or `ReadOnly`.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message: "the path ends in a member that is not observed: declare it as Observed, WeakObserved or ReadOnly"
    )
    public func property<Value>(_ path: KeyPath<ObservedPath<Self, Self>, UnobservedMember<Value>>) -> Observed<Value> {
        fatalError("property(_:) is unavailable")
    }

    /// Unavailable: the path ends in a member that is not `Observed`, `WeakObserved` or `ReadOnly`.
    @_disfavoredOverload
    @available(
        *,
        unavailable,
        message: "the path ends in a member that is not observed: declare it as Observed, WeakObserved or ReadOnly"
    )
    public func observe<Value>(
        _ path: KeyPath<ObservedPath<Self, Self>, UnobservedMember<Value>>,
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        fatalError("observe(_:options:delivery:_:) is unavailable")
    }
}
