// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *link* is an observer that a derived value
// attaches to a root. The comment at the top of `Derived.swift` explains this folder.

import ConcurrentObservePlatform
import Synchronization

/// A property of one of the library's own types. When a derived value reads the property, the
/// property notes the roots that the value depends on, as far as these are known.
///
/// If a property has any other type, the derived value notes an `OtherDependency`.
internal protocol Dependency<Value>: ObservableProperty {
    /// Returns the value, and notes in `collector` the versions of the roots that it depends on.
    func read(into collector: Collector) -> Value
}

/// A root: a property that stores its own value, and on which a derived value can depend.
internal protocol DerivationRoot: CommitMember {
    /// The address of the version, in the memory of the property.
    var address: UInt { get }

    /// The property's label, or an empty string.
    var label: String { get }

    /// Registers `link`: it is called with every change that begins afterwards. Returns the
    /// observer that calls it.
    func register(_ link: LinkReceiver) -> Observer

    /// Copies the present value and version, for a function to read later. The caller may hold off
    /// the publication of changes during the call.
    func copy() -> DependencyCopy

    /// Copies the value that the body of a commit has set, or else the present one. It is called in
    /// the body, on the body's thread.
    func copy(of draft: borrowing Draft) -> DependencyCopy
}

extension Observed: DerivationRoot {
    var address: UInt { cell.address }

    func register(_ link: LinkReceiver) -> Observer {
        let observer = observers.makeVersionedObserver(
            of: .links(),
            holding: HeldObject<LinkReceiver>(link),
            [.isForeign, .isOfDerivedValue]
        )
        attach(observer) { _ in }
        return observer
    }

    func copy() -> DependencyCopy {
        let (value, version) = snapshot()
        return DependencyCopy(value, version)
    }

    func copy(of draft: borrowing Draft) -> DependencyCopy {
        // The words of a property's draft stand for a value of the property's type.
        let value = draft.isSet ? ValueEncoding<Value>.copy(draft.words) : cell.copyLocked()
        return DependencyCopy(value, version)
    }
}

// MARK: - The library's own

extension Observed: Dependency {
    func read(into collector: Collector) -> Value { collector.read(self) }
}

extension ReadOnly: Dependency {
    func read(into collector: Collector) -> Value { property.read(into: collector) }
}

extension WeakObserved: Dependency {
    func read(into collector: Collector) -> Referent? {
        let copy = collector.copy(of: storage)
        let (referent, version) = (copy.map { $0.property as! Observed<WeakBox<Referent>> } ?? storage).referent()
        collector.note(storage, copy?.version ?? version, isRetained: true)
        return referent
    }
}

extension _RemovingDuplicates: Dependency {
    func read(into collector: Collector) -> Base.Value { collector.read(base) }
}

extension Path: Dependency {
    func read(into collector: Collector) -> Value {
        var object: PathObject? = root
        for link in steps.links {
            guard let present = object else { break }
            object = collector.sample(link.property(in: present)) { link.sample($0) }
        }
        guard let object, let last = steps.last else { return steps.absent! }
        return collector.sample(last.property(in: object)) { last.snapshot(of: $0) }
    }
}

extension Collector {
    /// Returns the value of a property on a path, or of its copy, and notes the property.
    fileprivate func sample<Value>(
        _ property: any PathProperty,
        _ snapshot: (any PathProperty) -> (Value, UInt64)
    ) -> Value {
        let dependency = property as! any DerivationRoot
        let copy = copy(of: dependency)
        let (value, version) = snapshot(copy?.property ?? property)
        note(dependency, copy?.version ?? version)
        return value
    }
}

// MARK: - Groups

extension Collector: MemberReader {}

extension Group: Dependency {
    func read(into collector: Collector) -> Value {
        members.read(self, into: collector) { readEach(collector) }
    }
}

extension PropertyList: Dependency {
    func read(into collector: Collector) -> [Property.Value] {
        members.read(self, into: collector) { properties.map(collector.read) }
    }
}

extension GroupMembers {
    /// Returns the present values of `group`, which keeps these members. The values were present
    /// together. If the list has all members of the group, the derived value depends on each of
    /// them, as if its function had read them one after the other. Otherwise the derived value
    /// depends on the group as a whole.
    ///
    /// - Parameter readEach: Reads the members one by one. It is called if the function reads the
    ///   drafts of a commit.
    fileprivate func read<Whole: ObservableProperty>(
        _ group: Whole,
        into collector: Collector,
        _ readEach: () -> Whole.Value
    ) -> Whole.Value {
        // The evaluation checks later that the values were present together.
        if collector.state.copies?.areOfDrafts == true { return readEach() }
        // Safe, all: the caller keeps the group, which keeps the list.
        guard unsafe list.pointee.isComplete else {
            let (value, version) = group.snapshot()
            collector.note(OtherProperty(group), version)
            return value
        }
        let members = unsafe list.pointee.members
        var wait = Backoff()
        while true {
            let versions = unsafe members.map(\.version)
            let value = group.value
            // Each version only grows, so the values belong to these versions.
            if unsafe zip(members, versions).allSatisfy({ member, version in member.version == version }) {
                for index in versions.indices {
                    // Every member is an `Observed`.
                    let root = unsafe members[index].property as! any DerivationRoot
                    collector.note(root, versions[index], isRetained: true)
                }
                return value
            }
            wait.pause()
        }
    }
}

// MARK: - Others

/// A source whose roots are not known: a group, or a property of a type that the library does not
/// know. Such a source has a version and can be observed; a derived value needs no more. A
/// `WeakSource` references the source.
internal protocol OtherDependency: AnyObject, Sendable {
    /// The source's version, or the highest number if the source is gone. Reading this version runs
    /// the code of the property's type, so the caller must hold no lock. (P5)
    var version: UInt64 { get }

    /// The type of the source, for explanations.
    var name: String { get }

    /// The address of the source, for explanations; nil if the source is no object, or is gone.
    var identity: UInt? { get }

    /// Attaches an observer that calls `follower` with every change. Returns nil if the source is
    /// gone.
    func attach(_ follower: LinkFollower) -> ObservationToken?
}

internal final class OtherProperty<Property: ObservableProperty>: OtherDependency {
    private let source: WeakSource<Property>

    init(_ property: Property) { source = WeakSource(property) }

    var version: UInt64 { source.withHeld(for: self) { $0.version } ?? .max }

    var name: String { String(describing: Property.self) }

    var identity: UInt? {
        guard Property.self is AnyObject.Type else { return nil }
        return source.withHeld(for: self) { UInt(bitPattern: ObjectIdentifier($0 as AnyObject)) }
    }

    func attach(_ follower: LinkFollower) -> ObservationToken? {
        let observer = PropertyObserver<Property.Value>([], .inline(.plain { _ in follower.settle(becauseOf: nil) }))
        let token = source.withHeld(for: self) { $0.attach(observer) }
        token?.observer.companion = FollowerCompanion(follower)
        token?.onEnd { [weak follower] end in if end == .sourceDeleted { follower?.rootIsGone() } }
        return token
    }
}

/// Says to which derived value an observer belongs. The observer is attached to a source whose
/// roots are not known.
internal final class FollowerCompanion: ObservationCompanion, @unchecked Sendable {
    // Unchecked: any thread may read a weak reference.
    private(set) weak var follower: LinkFollower?

    init(_ follower: LinkFollower) {
        self.follower = follower
        super.init()
    }
}
