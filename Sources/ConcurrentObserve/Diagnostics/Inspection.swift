// SPDX-License-Identifier: Apache-2.0

// The graph of observations, for the product `ConcurrentObserveInspection`. Nothing here runs
// unless the program asks for it.

/// A source and its observers at one moment.
package struct InspectedSource: Sendable {
    package enum Kind: Sendable, Equatable { case property, registry, path, group, derived(place: String) }

    /// Identifies the source among the results of one call of `all(from:)`.
    package let id: UInt
    package let kind: Kind
    /// The label of the source, or an empty string.
    package let label: String
    /// The type of the values or events; nil if no live observation of the source was recorded.
    package let type: (any Sendable.Type)?
    package let observers: [InspectedObserver]
}

/// An observer of a source at one moment.
package struct InspectedObserver: Sendable {
    package enum Kind: Sendable, Equatable {
        case callback
        case mailbox(place: String, DeliveryCounts)
        /// A binding, which sets the target.
        case binding
        /// The observer belongs to the target, which is a path, a group or a derived value.
        case part
        /// The observer belongs to a path that begins at another property. The observed property is
        /// the last one of the path.
        case pathEnd
    }

    package let kind: Kind
    /// The label of the observation, or an empty string.
    package let label: String
    /// The `id` of the source that changes because of the observed source. Nil for a callback, a
    /// mailbox and the end of a path.
    package let target: UInt?
    /// The record that the process's observation scope made of this observation. Nil if it made
    /// none, and always nil for a part and for the end of a path.
    package let made: MadeObservation?
}

extension InspectedSource {
    /// Returns the given sources, and all sources that change because of them. Leaves out a source
    /// that has no observers, unless it is the target of a returned observer. Examines one source
    /// after another, so the result may mix moments. Ends observations whose owners are dead. (P13)
    ///
    /// - Parameter sources: The sources to begin with. Nil stands for all sources that have a
    ///   label, and all sources with an observation that the process's scope has recorded.
    /// - Complexity: O(sources and observers).
    package static func all(from sources: [any ObservationSource]?) -> [InspectedSource] {
        ThreadRecord.withUserCode {
            let look = InspectionLook()
            defer { look.releaseKept() }
            return look.run(from: sources)
        }
    }
}

/// Walks once over the graph of observations. It is a class, because a `DeferredAction` releases
/// the objects in `kept`, and needs an object for which it does this.
private final class InspectionLook {
    private let made: [UInt: MadeObservation]
    private var waiting: [(core: RegistryCore, kind: InspectedSource.Kind?)] = []
    private var seen: Set<UInt> = []
    private var found: [InspectedSource] = []
    /// Objects of the observations. Releasing the last reference to such an object may run user
    /// code, so the calling thread must not do it. (P5)
    private var kept: [AnyObject] = []

    init() {
        let observations = ObservationScope.ofProcess?.observations ?? []
        made = Dictionary(observations.map { ($0.observer.address, $0) }) { first, _ in first }
    }

    func run(from sources: [any ObservationSource]?) -> [InspectedSource] {
        if let sources {
            for source in sources { addSource(source) }
        } else {
            for core in LabelledRegistries.all.sorted(by: { $0.label < $1.label }) { add(core) }
            follow()
            for one in made.values.sorted(by: { $0.number < $1.number }) where one.value != nil {
                add(one.observer.core)
                follow()
            }
        }
        follow()
        // The destination of a binding is shown even if nothing observes it.
        let targets = Set(found.flatMap(\.observers).compactMap(\.target))
        return found.filter { !$0.observers.isEmpty || targets.contains($0.id) }
    }

    /// Makes a thread of the library release the objects in `kept`.
    func releaseKept() {
        if !kept.isEmpty { ThreadRecord.retire(DeferredAction(for: self, releasing: &kept)) }
    }

    private func addSource(_ source: any ObservationSource) {
        guard let source = source as? any InspectableSource, let core = source.inspectedCore else { return }
        add(core, (source as? DerivationNode).map { .derived(place: $0.place.text) })
    }

    private func add(_ core: RegistryCore, _ kind: InspectedSource.Kind? = nil) {
        if seen.insert(core.sourceAddress).inserted { waiting.append((core, kind)) }
    }

    private func follow() {
        var next = 0
        while next < waiting.count {
            let (core, kind) = waiting[next]
            next += 1
            core.sweepOwners()
            let live = core.liveObservers()
            let observers = live.compactMap { inspect($0) }
            let isProperty = live.allSatisfy { $0.knownMark.contains(.versioned) }
            found.append(
                InspectedSource(
                    id: core.sourceAddress,
                    kind: kind ?? (isProperty ? .property : .registry),
                    label: core.label,
                    type: live.compactMap { made[$0.address]?.value }.first,
                    observers: observers
                )
            )
        }
        waiting = []
    }

    // MARK: Observers

    private func inspect(_ observer: Observer) -> InspectedObserver? {
        let core = observer.core
        let parts = core.lock.withLock { () -> (Observer.Extras.Parts, SourceWitness?)? in
            observer.isMarkedActive ? (Observer.Extras.Parts(locked: observer.extras), observer.witnessLocked) : nil
        }
        guard let (parts, witness) = parts else { return nil }
        if let witness {
            kept.append(witness)
            if let link = witness as? DerivationLink { return part(observer, derived(link.follower)) }
            if let path = (witness as? LinkReceiver)?.pathCore { return part(observer, (path, .path)) }
            return nil
        }
        if let companion = parts.companion { kept.append(companion) }
        if let companion = parts.companion as? FollowerCompanion {
            return companion.follower.flatMap { part(observer, derived($0)) }
        }
        if let delivery = parts.companion as? DeliveryState { return mailbox(observer, delivery) }
        if let principal = parts.principal { return binding(observer, to: principal.core) }
        if let dependents = parts.dependents { return feeder(observer, dependents) }
        if observer.isForeign { return InspectedObserver(kind: .pathEnd, label: "", target: nil, made: nil) }
        if let owner = parts.owner?.object {
            kept.append(owner)
            if let core = (owner as? any PathProperty)?.sharedCore { return binding(observer, to: core) }
        }
        return leaf(observer, .callback)
    }

    /// Describes an observer that passes changes on to `dependents`, which is the core of a path, a
    /// mailbox or a group. Returns nil if `dependents` has no live observer.
    private func feeder(_ observer: Observer, _ dependents: RegistryCore) -> InspectedObserver? {
        guard let fed = dependents.liveObservers().first else { return nil }
        if let delivery = fed.delivery, !fed.knownMark.contains(.versioned) {
            kept.append(delivery)
            return mailbox(fed, delivery)
        }
        return part(observer, (dependents, fed.knownMark.contains(.versioned) ? .group : .path))
    }

    /// Returns the core of the property that keeps the results of a derived value, and the kind of
    /// that source. Returns nil if the derived value is not observed.
    private func derived(_ follower: LinkFollower) -> (RegistryCore, InspectedSource.Kind)? {
        guard let node = (follower as? DerivedObservation)?.keeper.presentNode else { return nil }
        kept.append(node)
        guard let core = node.inspectedCore else { return nil }
        return (core, .derived(place: node.place.text))
    }

    private func part(
        _ observer: Observer,
        _ target: (core: RegistryCore, kind: InspectedSource.Kind)?
    ) -> InspectedObserver? {
        guard let target else { return nil }
        add(target.core, target.kind)
        return InspectedObserver(kind: .part, label: "", target: target.core.sourceAddress, made: nil)
    }

    private func binding(_ observer: Observer, to core: RegistryCore) -> InspectedObserver {
        add(core)
        return leaf(observer, .binding, core.sourceAddress)
    }

    private func mailbox(_ observer: Observer, _ delivery: DeliveryState) -> InspectedObserver {
        leaf(observer, .mailbox(place: delivery.mailbox?.place ?? "in a sequence", delivery.counter.counts))
    }

    private func leaf(
        _ observer: Observer,
        _ kind: InspectedObserver.Kind,
        _ target: UInt? = nil
    ) -> InspectedObserver {
        InspectedObserver(
            kind: kind,
            label: LabelledObservations.label(of: observer) ?? "",
            target: target,
            made: made[observer.address]
        )
    }
}

extension Observer.Extras {
    /// The parts of an observer's extras that show the kind of its observation.
    fileprivate struct Parts {
        let (companion, dependents): (ObservationCompanion?, RegistryCore?)
        let (principal, owner): (Observer?, WeakReference?)

        /// The caller must hold the core's lock.
        init(locked extras: Observer.Extras?) {
            (companion, dependents) = (extras?.companion, extras?.dependents)
            (principal, owner) = (extras?.principal, extras?.owner)
        }
    }
}

/// A source from which an `InspectionLook` can begin.
private protocol InspectableSource {
    /// The core that keeps the source's observers; nil if there is none yet.
    var inspectedCore: RegistryCore? { get }
}

extension Observed: InspectableSource {
    fileprivate var inspectedCore: RegistryCore? { observers.existingCore }
}

extension WeakObserved: InspectableSource {
    fileprivate var inspectedCore: RegistryCore? { storage.observers.existingCore }
}

extension ObserverRegistry: InspectableSource {
    fileprivate var inspectedCore: RegistryCore? { observers.existingCore }
}

extension DerivationNode: InspectableSource {
    /// The core of the property that keeps the results; nil if the derived value is not observed.
    fileprivate final var inspectedCore: RegistryCore? {
        lock.withLock { observation?.results.core }
    }
}
