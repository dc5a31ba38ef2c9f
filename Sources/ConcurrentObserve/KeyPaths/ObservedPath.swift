// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore: NoLeadingUnderscores
/// The steps from an object to an observed property. A key path such as `\.engine.rpm` is evaluated
/// on the path without steps, and each member of the key path adds one.
///
/// Its members are the observed properties of the object that the path has reached. The value of a
/// path with an optional step is optional, and never an optional of an optional: nil means that a
/// step is nil, or that the last value is nil.
@dynamicMemberLookup
public struct _ObservedPath<Root: ConcurrentObservable, Value: Sendable>: Sendable {
    /// The steps before the last one.
    @usableFromInline internal let links: [PathLink]
    /// The last step; nil for the root itself.
    @usableFromInline internal let last: PathStep<Value>?
    /// The value of the path while a step is nil; nil if no step is optional.
    @usableFromInline internal let absent: Value?

    @inlinable
    internal init(links: [PathLink], last: PathStep<Value>?, absent: Value?) {
        self.links = links
        self.last = last
        self.absent = absent
    }
}

extension _ObservedPath where Root == Value {
    /// The path without steps: it leads to the root itself.
    @inlinable
    internal static var root: _ObservedPath { _ObservedPath(links: [], last: nil, absent: nil) }
}

extension _ObservedPath {
    /// Returns the property that the path leads to, if the path has one step and shows that
    /// property's values unchanged; nil otherwise.
    @inlinable
    internal func directProperty(of root: PathObject) -> Observed<Value>? {
        links.isEmpty ? last?.direct(in: root) : nil
    }

    /// Returns the path with one more step.
    ///
    /// - Parameters:
    ///   - absent: The value of the path while a step is nil.
    ///   - follow: Returns the object that a value of this path leads to, if any.
    @inlinable
    internal func followed<Next: Sendable>(
        by next: PathStep<Next>,
        absent: Next? = nil,
        _ follow: @escaping @Sendable (Value) -> PathObject?
    ) -> _ObservedPath<Root, Next> {
        _ObservedPath<Root, Next>(
            links: links + (last.map { [PassedStep($0, follow)] } ?? []),
            last: next,
            absent: absent
        )
    }
}

// MARK: - Members

extension _ObservedPath where Value: ConcurrentObservable {
    /// The path to a property of the object that this path leads to.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Properties, Observed<Next>> & Sendable
    ) -> _ObservedPath<Root, Next> {
        followed(by: MemberStep<Value, PlainMember<Observed<Next>>>(member)) { $0 }
    }
}

extension _ObservedPath where Value: _OptionalConcurrentObservable {
    /// The path to a property of the object that this path leads to. Its value is nil while there
    /// is no object.
    @_disfavoredOverload
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, Observed<Next>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: MemberStep<Value.Wrapped, OptionalMember<Observed<Next>>>(member), absent: .some(nil)) {
            $0._wrapped
        }
    }

    /// The path to an optional property of the object that this path leads to. Its value is nil,
    /// too, while there is no object. The compiler prefers this overload, so the value is optional
    /// only once.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, Observed<Next?>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: MemberStep<Value.Wrapped, PlainMember<Observed<Next?>>>(member), absent: .some(nil)) {
            $0._wrapped
        }
    }
}

// MARK: - Weak members

extension _ObservedPath where Value: ConcurrentObservable {
    /// The path to the referent of a weak property. Its value is nil while there is no referent.
    public subscript<Next: WeaklyObservable>(
        dynamicMember member: any KeyPath<Value.Properties, WeakObserved<Next>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: WeakStep<Value, Next>(member), absent: .some(nil)) { $0 }
    }
}

extension _ObservedPath where Value: _OptionalConcurrentObservable {
    /// The path to the referent of a weak property of the object that this path leads to. Its value
    /// is nil while there is no object or no referent.
    public subscript<Next: WeaklyObservable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, WeakObserved<Next>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: WeakStep<Value.Wrapped, Next>(member), absent: .some(nil)) { $0._wrapped }
    }
}

// MARK: - Read-only members

extension _ObservedPath where Value: ConcurrentObservable {
    /// The path to a property that the object shows read-only.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Properties, ReadOnly<Next>> & Sendable
    ) -> _ObservedPath<Root, Next> {
        followed(by: MemberStep<Value, PlainMember<ReadOnly<Next>>>(member)) { $0 }
    }
}

extension _ObservedPath where Value: _OptionalConcurrentObservable {
    /// The path to a property that the object at the end of this path shows read-only. Its value is
    /// nil while there is no object.
    @_disfavoredOverload
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, ReadOnly<Next>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: MemberStep<Value.Wrapped, OptionalMember<ReadOnly<Next>>>(member), absent: .some(nil)) {
            $0._wrapped
        }
    }

    /// The path to an optional property that the object at the end of this path shows read-only.
    /// Its value is nil, too, while there is no object. The value is a `Next?`, not a `Next??`.
    @inlinable
    public subscript<Next: Sendable>(
        dynamicMember member: any KeyPath<Value.Wrapped.Properties, ReadOnly<Next?>> & Sendable
    ) -> _ObservedPath<Root, Next?> {
        followed(by: MemberStep<Value.Wrapped, PlainMember<ReadOnly<Next?>>>(member), absent: .some(nil)) {
            $0._wrapped
        }
    }
}
