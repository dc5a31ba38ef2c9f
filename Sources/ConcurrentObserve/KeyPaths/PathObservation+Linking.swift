// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension PathObservation {
    /// Links the whole path. Returns its first value, which has version 0, and the scope in which
    /// to deliver it, so that a binding can see the value's origin. The scope is nil if no binding
    /// receives the value.
    ///
    /// - Parameter deferred: Receives the deliveries of changes that came while the path was
    ///   linked.
    func connect(to root: PathObject, _ deferred: DeferredDeliveries) -> (value: Value, scope: DeliveryScope?) {
        var round = Round()
        let value = link(below: nil, to: root, &round)
        let scope = scope(of: version, becauseOf: nil)
        if loop.leave() { settle(deferred) }
        round.release(for: self, deferred)
        return (value, scope)
    }

    /// Links the path below the link at `index`, from `object` on. If `index` is nil, links the
    /// whole path. Inside the drain loop.
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
            if index == nil { step.place.trapInsideBody(of: property) }
            let observer = makeObserver(step.place.core(of: property), ObserverMark(.links), isRoot: isRoot)
            observer.setContent(HeldObject<LinkedPath>(self), of: .links())
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
        if index == nil { last.trapInsideBody(of: property) }
        return attach(to: property, isRoot: depth == 0)
    }

    /// Attaches a leaf to the path's last property, which the caller keeps. Returns the value
    /// there. Inside the drain loop.
    func attach(to property: PathObject, isRoot: Bool) -> Value {
        // Relaxed: the drain loop orders it before anything that could bring the count to zero.
        pending.add(1, ordering: .relaxed)
        let observer = makeObserver(
            last.core(of: property),
            receiver == nil ? inlineMarks : marks.union(ObserverMark(.mailboxes)),
            isRoot: isRoot
        )
        let cut = PathLeaf(of: self, user: user!, observer: observer, base: version, way: way, links: linkAddresses)
        if let receiver { last.connect(observer, to: cut, receiver) } else { last.connect(observer, to: cut) }
        if isRoot { rootProperty = property }
        let isPassed = links.contains { link in link.observer?.core === observer.core }
        leaf = Leaf(property: isRoot ? nil : property, cut: cut, isPassed: isPassed)
        return last.attach(observer, of: property).value
    }

    /// The marks of the last property's inline observer. If the path has links, a commit may change
    /// one of them, too, and so it calls the observer under its members' locks. (P21)
    private var inlineMarks: ObserverMark { hasOneStep ? marks : marks.union(.isCombined) }

    /// The lock addresses of the properties on the way, by which commits know them. A root property
    /// that is gone is left out: no commit changes it.
    private var linkAddresses: [UInt] {
        links.indices.compactMap { depth in
            let property = depth == 0 ? rootProperty : links[depth].property
            return property.map { links[depth].step.place.member($0).member.address }
        }
    }

    /// Makes an observer of a property of the path, without its closure.
    func makeObserver(_ core: RegistryCore, _ marks: ObserverMark, isRoot: Bool) -> VersionedObserver {
        let observer = VersionedObserver(
            core: core,
            owner: isRoot ? owner : nil,
            isRoot ? marks : marks.union(.isForeign)
        )
        guard isRoot else { return observer }
        observer.feed(observers.core())
        // Ends the path at once: changes after the root's end are not delivered. (P12)
        observer.atSourceEnd { [self] in rootIsGone() }
        // Retains the path, and so the other observers, until this observer has finished.
        _ = observer.whenFinished { [self] _ in withExtendedLifetime(self) {} }
        return observer
    }

    /// Ends the links below the one at `index`, and the leaf. Returns the path's last value there,
    /// and its version. Inside the drain loop.
    func cut(below index: Int, _ round: inout Round) -> (value: Value, version: UInt64) {
        endLinks(links.indices.suffix(from: index + 1), &round)
        return cutLeaf(&round) ?? (absent!, version)
    }

    /// Ends the observers of some links. Inside the drain loop.
    func endLinks(_ depths: Range<Int>, _ round: inout Round) {
        for depth in depths {
            links[depth].observer?.end(.cancelled)
            links[depth].observer = nil
            if let property = links[depth].property.take() { round.kept.append(property) }
        }
    }

    /// Cuts the leaf: later changes of its property are not delivered. Returns the last value
    /// there, and the path's version for it. Nil if the path leads nowhere, or if the property is
    /// gone. Inside the drain loop.
    func cutLeaf(_ round: inout Round) -> (value: Value, version: UInt64)? {
        guard let leaf = leaf.take(), let property = held(leaf.property, isRoot: hasOneStep, &round) else { return nil }
        if leaf.isPassed { round.isLate = true }
        let (value, version) = last.cut(leaf.cut, of: property)
        leaf.cut.expectDeliveries(through: version)
        return (value, leaf.cut.number(of: version))
    }

    /// Returns the property of a link or a leaf, which `round` keeps until the drain loop is left.
    /// Nil if the path does not lead there, or if the root's property is gone.
    func held(_ retained: PathObject?, isRoot: Bool, _ round: inout Round) -> PathObject? {
        guard let property = isRoot ? rootProperty : retained else { return nil }
        if isRoot { round.brief.append(property) } else { round.kept.append(property) }
        return property
    }
}
