// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Binding: lifetimes")
    struct BindingLifetimeTests {}
}

extension Promises.BindingLifetimeTests {
    enum Kind: CaseIterable, Sendable { case oneWay, transform, twoWay, twoWayTransform }

    /// Binds with a life that the transforms, if any, capture.
    private func bind(_ a: Observed<Int>, _ b: Observed<Int>, _ kind: Kind, _ life: Life? = nil) -> ObservationToken {
        let transform: @Sendable (Int) -> Int = { value in
            life?.touch()
            return value
        }
        return switch kind {
        case .oneWay: a.bind(to: b)
        case .transform: a.bind(to: b, transform: transform)
        case .twoWay: a.bindBidirectionally(with: b)
        case .twoWayTransform: a.bindBidirectionally(with: b, forward: transform, backward: transform)
        }
    }

    @Test("P11 P12 The source dies first: not retained, ended with sourceDeleted, inactive", arguments: Kind.allCases)
    func sourceDies(kind: Kind) throws {
        let (source, destination) = (Slot(Observed(1)), Observed(0))
        let weak = Weak(source.value!)
        let ends = Log<ObservationEnd>()
        let token = bind(source.value!, destination, kind)
        token.onEnd { ends.append($0) }
        source.clear()
        #expect(weak.object == nil)
        #expect(!token.isActive)
        #expect(destination.value == 1)
        destination.value = 2
        try eventually("the end") { ends.count > 0 }
        try Process.settle()
        #expect(ends.entries == [.sourceDeleted])
        token.cancel()
    }

    @Test("P11 P13 The destination dies first: not retained, ended with ownerDeleted", arguments: Kind.allCases)
    func destinationDies(kind: Kind) throws {
        let (source, destination) = (Observed(1), Slot(Observed(0)))
        let weak = Weak(destination.value!)
        let ends = Log<ObservationEnd>()
        let token = bind(source, destination.value!, kind)
        token.onEnd { ends.append($0) }
        destination.clear()
        #expect(weak.object == nil)
        source.value = 2
        #expect(source.snapshot() == (2, 1))
        #expect(!token.isActive)
        try eventually("the end") { ends.count > 0 }
        try Process.settle()
        #expect(ends.entries == [.ownerDeleted])
    }

    @Test("P10 The binding is released first: both sides live on, independent", arguments: Kind.allCases)
    func bindingDies(kind: Kind) throws {
        let (source, destination, lives) = (Observed(1), Observed(0), Lives())
        let ends = Log<ObservationEnd>()
        do {
            let token = bind(source, destination, kind, lives.make())
            token.onEnd { ends.append($0) }
            withExtendedLifetime(token) {}
        }
        source.value = 2
        #expect(destination.value == 1)
        destination.value = 3
        #expect(source.value == 2)
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(ends.entries == [.cancelled])
    }

    @Test("P9 After cancelAndWait the transforms are destroyed, and nothing follows", arguments: Kind.allCases)
    func cancelAndWait(kind: Kind) throws {
        let (source, destination, lives) = (Observed(1), Observed(0), Lives())
        let token = bind(source, destination, kind, lives.make())
        #expect(token.cancelAndWaitBlocking() == .finished)
        #expect(lives.alive == 0)
        #expect(!token.isActive)
        source.value = 2
        #expect(destination.value == 1)
        destination.value = 3
        #expect(source.value == 2)
    }

    @Test("P9 cancelAndWait waits for what is under way, in both directions", arguments: [false, true])
    func waitsForBoth(backward: Bool) throws {
        let (left, right) = (Observed(0), Observed(0))
        let (inside, release) = (Signal("a transform that blocks"), Signal("its release"))
        let token = left.bindBidirectionally(
            with: right,
            forward: { value in
                if value == 1 { inside.happen(); release.hold() }
                return value
            },
            backward: { value in
                if value == 2 { inside.happen(); release.hold() }
                return value
            }
        )
        let setter = TestThread { if backward { right.value = 2 } else { left.value = 1 } }
        try inside.wait()
        let returned = Signal("the return of cancelAndWait")
        let waiter = TestThread {
            token.cancelAndWaitBlocking()
            returned.happen()
        }
        #expect(!returned.happens(within: glance))
        // Cancelled at once, all the same. (P8)
        try eventually("the cancellation") { !token.isActive }
        left.value = 10
        #expect(right.value != 10)
        right.value = 11
        #expect(left.value == 10)
        release.happen()
        try returned.wait()
        try setter.join()
        try waiter.join()
    }

    @Test("P14 Ended bindings leave no observation behind on either side", arguments: Kind.allCases)
    func nothingIsLeft(kind: Kind) throws {
        try Process.settle()
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        let (source, destination, lives) = (Observed(1), Observed(0), Lives())
        for _ in 0..<100 {
            let token = bind(source, destination, kind, lives.make())
            source.value += 1
            #expect(destination.value == source.value)
            token.cancel()
        }
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of all observations") {
            ConcurrentObserveDiagnostics.current().liveObservers <= before
        }
    }

    @Test("P6 A callback of the destination releases the binding, the source, or the destination", arguments: 0..<3)
    func releasedInACallback(what: Int) throws {
        for kind in Kind.allCases {
            let (source, destination) = (Slot(Observed(0)), Slot(Observed(0)))
            let (weakSource, weakDestination) = (Weak(source.value!), Weak(destination.value!))
            let kept = Slot(bind(source.value!, destination.value!, kind))
            let token = destination.value!.observe { change in
                guard change.new == 1 else { return }
                [{ kept.clear() }, { source.clear() }, { destination.clear() }][what]()
            }
            source.value!.value = 1
            if what != 1 { #expect(source.value!.value == 1) } else { #expect(weakSource.object == nil) }
            if what != 2 { #expect(destination.value!.value == 1) } else { #expect(weakDestination.object == nil) }
            #expect(kept.value?.isActive != true)
            withExtendedLifetime(token) {}
        }
    }
}

// MARK: - Two sides that end together

extension Promises.BindingLifetimeTests {
    @Test("P8 Both sides count a two-way binding until its token ends, and not until its closure is destroyed")
    func counts() throws {
        let (left, right, lives) = (Observed(1), Observed(0), Lives())
        let destruction = Signal("the destruction of the transforms")
        let life = Slot(lives.make { destruction.hold() })
        let token = bind(left, right, .twoWayTransform, life.take())
        #expect([left.observationCount, right.observationCount] == [1, 1])
        token.cancel()
        #expect([left.observationCount, right.observationCount] == [0, 0])
        #expect(lives.alive == 1)
        destruction.happen()
        try lives.waitUntilNoneIsLeft()
        #expect([left.observationCount, right.observationCount] == [0, 0])
    }

    @Test("P8 A property that is bound to itself counts the binding once")
    func countsItself() {
        let property = Observed(1)
        let token = property.bindBidirectionally(with: property)
        #expect(property.observationCount == 1)
        property.cancelAllObservations()
        #expect(!token.isActive)
        #expect(property.observationCount == 0)
    }

    @Test("P8 Both directions of a two-way binding end with the observations of either side", arguments: [false, true])
    func eitherSide(ofRight: Bool) throws {
        let (left, right, ends) = (Observed(1), Observed(0), Log<ObservationEnd>())
        let token = left.bindBidirectionally(with: right)
        token.onEnd { ends.append($0) }
        if ofRight { right.cancelAllObservations() } else { left.cancelAllObservations() }
        #expect(!token.isActive)
        #expect([left.observationCount, right.observationCount] == [0, 0])
        left.value = 2
        #expect(right.value == 1)
        right.value = 3
        #expect(left.value == 2)
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.cancelled])
    }

    @Test(
        "P8 A two-way binding that is cancelled on either side while it begins has ended then",
        arguments: [false, true]
    )
    func eitherSideMeanwhile(ofRight: Bool) {
        let (left, right, calls) = (Observed(1), Observed(0), Counter())
        // The initial value arrives.
        let observation = right.observe { (_: Change<Int>) in
            calls.increment()
            if ofRight { right.cancelAllObservations() } else { left.cancelAllObservations() }
        }
        let token = left.bindBidirectionally(with: right)
        #expect(calls.value == 1)
        #expect(!token.isActive)
        #expect(left.observationCount == 0)
        #expect(right.observationCount == (ofRight ? 0 : 1))
        left.value = 2
        #expect(right.value == 1)
        right.value = 3
        #expect(left.value == 2)
        withExtendedLifetime(observation) {}
    }
}
