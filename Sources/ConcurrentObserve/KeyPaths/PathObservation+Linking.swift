// SPDX-License-Identifier: Apache-2.0

// A *link* of a path is a step before the last one, and the *leaf* is the end of the path at its
// last property. Properties *on the way* are those of the links. The comment at the top of
// `Path.swift` explains this folder.

import Synchronization

extension PathObservation {
    /// Registers the user's observer, then links the path, so that no change in between is lost.
    /// Returns the token of the observation.
    func start(_ observer: Observer, root: PathObject) -> ObservationToken {
        user = observer
        _ = observer.whenFinished { [self] _ in drop() }
        // Not earlier: from here on another thread can end it, for example by ending all
        // observations of its owner.
        observer.register()
        let token = ObservationToken(observer)
        ThreadRecord.withUserCode {
            var deferred = LinkDeliveries()
            var round = Round()
            let value = link(below: nil, to: root, &round)
            // With the scope, a binding sees the origin of the value.
            let scope = scope(of: version, becauseOf: nil)
            if loop.leave() { settle(&deferred) }
            round.release(for: self, &deferred)
            deferred.releaseKept()
            // Changes that came while the path was linked are delivered after the initial value.
            if options.contains(.initial) { deliver(.initial((value, 0)), in: scope) }
            deferred.deliver()
            deferred.deliverLate()
        }
        return token
    }

    /// Links the path below the link at `index`, from `object` on. If `index` is nil, links the
    /// whole path. The caller must be in the drain loop.
    ///
    /// Registering in the body of a property's own `modify` traps. Relinking does not: a path that
    /// is registered is relinked wherever a step is replaced. (P5)
    ///
    /// - Returns: The path's value.
    func link(below index: Int?, to object: PathObject?, _ round: inout Round) -> Value {
        var next = object
        var depth = index.map { $0 + 1 } ?? 0
        while depth < links.count, let object = next {
            let isRoot = depth == 0
            // The caller keeps the root.
            if !isRoot { round.keep(object, of: links[depth - 1].step) }
            let step = links[depth].step
            let property = step.property(in: object)
            if index == nil { property.trapInsideBody() }
            let observer = makeObserver(property.sharedCore, ObserverMark(.links), isRoot: isRoot)
            observer.setContent(HeldObject<LinkReceiver>(self), of: .links())
            if isRoot { rootProperty = property } else { links[depth].property = property }
            links[depth].observer = observer
            let present = step.attach(observer, of: property)
            links[depth].seen = present.version
            next = present.object
            depth += 1
        }
        guard let object = next else { return absent! }
        if depth > 0 { round.keep(object, of: links[depth - 1].step) }
        let property = last.property(in: object)
        if index == nil { property.trapInsideBody() }
        return attach(to: property, isRoot: depth == 0)
    }

    /// Attaches a leaf to the path's last property, which the caller keeps. Returns the value
    /// there. The caller must be in the drain loop.
    func attach(to property: any PathProperty, isRoot: Bool) -> Value {
        // Relaxed: the drain loop orders it before anything that could bring the count to zero.
        pending.add(1, ordering: .relaxed)
        // If the path has links, a commit may change one of them, too, and so it calls an inline
        // observer under its members' locks. (P21)
        let marks: ObserverMark = receiver != nil ? ObserverMark(.mailboxes) : hasOneStep ? [] : .isCombined
        let observer = makeObserver(property.sharedCore, options.marks.union(marks), isRoot: isRoot)
        let cut = PathLeaf(of: self, user: user!, observer: observer, base: version, way: way, links: linkAddresses)
        last.connect(observer, to: cut, receiver)
        if isRoot { rootProperty = property }
        let isPassed = links.contains { link in link.observer?.core === observer.core }
        leaf = Leaf(property: isRoot ? nil : property, cut: cut, isPassed: isPassed)
        return last.attach(observer, of: property).value
    }

    /// The addresses of the latches of the properties on the way, by which commits identify them. A
    /// root property that is gone is left out: no commit changes it.
    private var linkAddresses: [UInt] {
        links.indices.compactMap { depth in
            (depth == 0 ? rootProperty : links[depth].property)?.member.address
        }
    }

    /// Makes an observer of a property of the path, without its closure.
    func makeObserver(_ core: RegistryCore, _ marks: ObserverMark, isRoot: Bool) -> VersionedObserver {
        guard isRoot else { return VersionedObserver(core: core, owner: nil, marks.union(.isForeign)) }
        let observer = VersionedObserver(core: core, owner: owner, marks)
        observer.feed(observers.core())
        // Ends the path at once: changes after the root's end are not delivered. (P12)
        observer.atSourceEnd { [self] in rootIsGone() }
        // Retains the path, and so the other observers, until this observer has finished.
        _ = observer.whenFinished { [self] _ in withExtendedLifetime(self) {} }
        return observer
    }

    /// Ends the links below the one at `index`, and the leaf. Returns the path's last value there,
    /// and its version. The caller must be in the drain loop.
    func cut(below index: Int, _ round: inout Round) -> (value: Value, version: UInt64) {
        endLinks(links.indices.suffix(from: index + 1), &round)
        return cutLeaf(&round) ?? (absent!, version)
    }

    /// Ends the observers of the links at `depths`. The caller must be in the drain loop.
    func endLinks(_ depths: Range<Int>, _ round: inout Round) {
        for depth in depths {
            links[depth].observer?.end(.cancelled)
            links[depth].observer = nil
            if let property = links[depth].property.take() { round.kept.append(property) }
        }
    }

    /// Cuts the leaf: later changes of its property are not delivered. Returns the last value
    /// there, and the path's version for it. Nil if the path leads nowhere, or if the property is
    /// gone. The caller must be in the drain loop.
    func cutLeaf(_ round: inout Round) -> (value: Value, version: UInt64)? {
        guard let leaf = leaf.take(), let property = held(leaf.property, isRoot: hasOneStep, &round) else { return nil }
        if leaf.isPassed { round.isLate = true }
        let (value, version) = last.cut(leaf.cut, of: property)
        leaf.cut.expectDeliveries(through: version)
        return (value, leaf.cut.number(of: version))
    }

    /// Returns the property of a link or a leaf. `round` keeps the property until the drain loop is
    /// left. Nil if the path does not lead there, or if the root's property is gone.
    func held(_ retained: (any PathProperty)?, isRoot: Bool, _ round: inout Round) -> (any PathProperty)? {
        guard let property = isRoot ? rootProperty : retained else { return nil }
        if isRoot { round.brief.append(property) } else { round.kept.append(property) }
        return property
    }
}
