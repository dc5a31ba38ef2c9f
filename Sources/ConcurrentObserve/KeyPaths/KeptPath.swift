// SPDX-License-Identifier: Apache-2.0

/// A path whose changes wait in a mailbox in another form than the delivered one.
///
/// A change may wait for long. A change of a weak property waits as a reference that keeps nothing
/// alive, and that may be copied and destroyed under any lock. The referents are looked up when the
/// change is delivered. (P5, P11)
@usableFromInline
internal protocol KeptPath<Root, Value>: Sendable {
    associatedtype Root: ConcurrentObservable
    /// The type of the delivered values.
    associatedtype Value: Sendable
    /// The type of the values that the mailbox keeps.
    associatedtype Kept: Sendable

    /// The path to the same property, with the kept values.
    var path: ObservedPath<Root, Kept> { get }

    /// Returns the function that converts a kept change to the one that `observer` receives. Call
    /// that function only where user code may run.
    static func seeing(for observer: PropertyObserver<Value>) -> @Sendable (Change<Kept>) -> Change<Value>
}

extension ObservedPath {
    /// The form of the path for mailboxes and for observers that compare values; nil if these use
    /// the delivered values.
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
    /// Begins an observation whose changes stay in the kept form until they are delivered.
    @usableFromInline
    internal func attach(_ observer: PropertyObserver<Value>, from root: Root) -> ObservationToken {
        let see = Self.seeing(for: observer)
        return Path(root, path).attach(observer.pulledBack { see($0) })
    }
}
