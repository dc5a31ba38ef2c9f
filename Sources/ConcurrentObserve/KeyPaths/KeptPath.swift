// SPDX-License-Identifier: Apache-2.0

/// A path whose changes a mailbox keeps in another form than that in which they are delivered.
///
/// A change may wait for long. One of a weak property waits as the property keeps its values: as
/// references that keep nothing alive, and that are copied and destroyed under any lock. The
/// referents are looked up when the change is delivered. (P5, P11)
@usableFromInline
internal protocol KeptPath<Root, Value>: Sendable {
    associatedtype Root: ConcurrentObservable
    /// What is delivered.
    associatedtype Value: Sendable
    /// What is kept.
    associatedtype Kept: Sendable

    /// The path, seen as one of what is kept.
    var path: ObservedPath<Root, Kept> { get }

    /// How `observer` sees the changes that were kept. Called where user code may run.
    static func seeing(for observer: PropertyObserver<Value>) -> @Sendable (Change<Kept>) -> Change<Value>
}

extension ObservedPath {
    /// The path as a mailbox keeps its changes, and as they are compared; nil if it keeps them as they are.
    @usableFromInline
    internal var kept: (any KeptPath<Root, Value>)? { last?.kept(after: links, from: Root.self) }
}

/// A path that ends in a weak property.
internal struct WeakPath<Root: ConcurrentObservable, Referent: WeaklyObservable>: KeptPath {
    let path: ObservedPath<Root, WeakBox<Referent>>

    init<Model>(
        _ member: MemberPath<Model, BoxMember<Referent>>,
        of model: Model.Type,
        after links: [PathLink]
    ) {
        path = ObservedPath(
            links: links,
            last: MemberStep<Model, BoxMember<Referent>>(member),
            absent: WeakBox(nil)
        )
    }

    static func seeing(
        for observer: PropertyObserver<Referent?>
    ) -> @Sendable (Change<WeakBox<Referent>>) -> Change<Referent?> { observer.seeing() }
}

extension KeptPath {
    /// Begins an observation that receives the changes in that form until they are delivered.
    @usableFromInline
    internal func attach(_ observer: PropertyObserver<Value>, from root: Root) -> ObservationToken {
        let see = Self.seeing(for: observer)
        return Path(root, path).attach(observer.pulledBack { see($0) })
    }
}
