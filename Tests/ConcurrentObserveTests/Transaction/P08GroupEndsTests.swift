// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P8 P13 How observations of groups end, and how their members count them")
    struct P08GroupEndsTests {}
}

/// A way to observe two properties together.
private enum Combining: CaseIterable, Sendable {
    case group, list, nested, paths

    /// Observes with an owner.
    func observe(_ car: Car, _ other: Observed<Int>, _ owner: Life, _ delivery: Delivery) -> ObservationToken {
        switch self {
        case .group: Group(car.mileage, other).observe(owner: owner, delivery: delivery) { _, _ in }
        case .list: PropertyList([car.mileage, other]).observe(owner: owner, delivery: delivery) { _, _ in }
        case .nested:
            Group(Group(car.mileage, car.name), other.removingDuplicates())
                .observe(owner: owner, delivery: delivery) { _, _ in }
        case .paths:
            Group(car.property(\.axle.wheel.pressure), other).observe(owner: owner, delivery: delivery) { _, _ in }
        }
    }

    func counts(_ car: Car, _ other: Observed<Int>) -> [Int] {
        switch self {
        case .group, .list: [car.mileage.observationCount, other.observationCount]
        case .nested: [car.mileage.observationCount, car.name.observationCount, other.observationCount]
        case .paths: [car.axle.observationCount, other.observationCount]
        }
    }

    /// Ends what an owner observes at the first member.
    func cancelAll(at car: Car, ownedBy owner: Life) {
        if self == .paths {
            car.axle.cancelAllObservations(ownedBy: owner)
        } else {
            car.mileage.cancelAllObservations(ownedBy: owner)
        }
    }
}

private let deliveries = [Delivery.inline, .serial(), .queue(DispatchQueue(label: "a group"))]

// MARK: - Owners

extension Promises.P08GroupEndsTests {
    @Test(
        "P13 The members notice a dead owner of the group's observation when they count",
        arguments: Combining.allCases
    )
    fileprivate func deadOwner(combining: Combining) {
        for delivery in deliveries {
            let (car, other, lives) = (Car(1), Observed(0), Lives())
            let owner = Slot(lives.make())
            let token = combining.observe(car, other, owner.value!, delivery)
            let living = combining.counts(car, other)
            #expect(living.allSatisfy { $0 == 1 })
            owner.clear()
            #expect(lives.alive == 0)
            #expect(combining.counts(car, other).allSatisfy { $0 == 0 })
            withExtendedLifetime(token) {}
        }
    }

    @Test(
        "P8 With the observations of an owner at one member, those of a group end that have this owner",
        arguments: Combining.allCases
    )
    fileprivate func byOwner(combining: Combining) throws {
        for delivery in deliveries {
            let (car, other, ends) = (Car(1), Observed(0), Log<ObservationEnd>())
            let (owner, another) = (Lives().make(), Lives().make())
            let gone = combining.observe(car, other, owner, delivery)
            gone.onEnd { ends.append($0) }
            let kept = [
                combining.observe(car, other, another, delivery), Group(car.mileage, other).observe { _ in },
                car.axle.observe { (_: Change<Axle>) in },
            ]
            let before = combining.counts(car, other)
            combining.cancelAll(at: car, ownedBy: owner)
            #expect(!gone.isActive)
            #expect(kept.allSatisfy { $0.isActive })
            #expect(combining.counts(car, other) == before.map { $0 - 1 })
            try eventually("the end") { ends.count == 1 }
            #expect(ends.entries == [.cancelled])
            withExtendedLifetime((owner, another)) {}
        }
    }
}

// MARK: - Counts

extension Promises.P08GroupEndsTests {
    @Test("P8 A property that is a member twice counts the group's observation once")
    func twice() {
        for delivery in deliveries {
            let (car, number) = (Car(1), Observed(0))
            var tokens = [
                Group(number, number).observe(delivery: delivery) { _ in },
                Group(Group(number, car.name), number).observe(delivery: delivery) { _ in },
                PropertyList([number, number, number]).observe(delivery: delivery) { _ in },
                Group(number.readOnly, number.removingDuplicates()).observe(delivery: delivery) { _ in },
                number.observe(delivery: delivery) { (_: Change<Int>) in },
            ]
            let paths = Group(car.axle, car.property(\.axle.wheel.pressure)).observe(delivery: delivery) { _ in }
            #expect(number.observationCount == 5)
            #expect(car.name.observationCount == 1)
            #expect(car.axle.observationCount == 1)
            while let token = tokens.popLast() {
                token.cancel()
                #expect(number.observationCount == tokens.count)
            }
            car.axle.cancelAllObservations()
            #expect(!paths.isActive)
            #expect(car.axle.observationCount == 0)
        }
    }
}

// MARK: - While it begins

/// Runs something whenever a path is linked to it.
private final class Watched: ConcurrentObservable {
    struct Properties: Sendable { let pressure = Observed(1) }
    private let properties = Properties()
    let onLink = Slot<@Sendable () -> Void>({})

    var observedProperties: Properties {
        onLink.value!()
        return properties
    }
}

extension Promises.P08GroupEndsTests {
    @Test("P8 A member that lives ends and counts the group's observation while changes wait, though another has died")
    func waitingAfterAMembersDeath() throws {
        let ends: [@Sendable (Observed<Int>) -> Void] = [
            { $0.cancelAllObservations() }, { ObservationToken.cancelAll(of: $0) },
        ]
        for end in ends {
            let member = Slot(Observed(0))
            let (other, queue) = (Observed(0), DispatchQueue(label: "a member has died"))
            let (received, ended) = (Counter(), Log<ObservationEnd>())
            queue.suspend()
            let token = Group(member.value!, other).observe(delivery: .queue(queue)) { _ in received.increment() }
            token.onEnd { ended.append($0) }
            other.value = 1
            other.value = 2
            member.clear()
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(5)) == .finished)
            #expect(token.isActive)
            #expect(other.observationCount == 1)
            end(other)
            #expect(!token.isActive)
            #expect(other.observationCount == 0)
            queue.resume()
            _ = try eventually("the end") { ended.count == 1 }
            #expect(received.value == 0)
            #expect(ended.entries == [.cancelled])
        }
    }

    @Test("P8 A group's observation ends before observe returns if a member's observations are cancelled meanwhile")
    func cancelledMeanwhile() async {
        let (first, watched) = (Observed(0), Watched())
        // The group observes its first member already.
        watched.onLink.put { first.cancelAllObservations() }
        let group = Group(first, watched.property(\.pressure))
        for delivery in deliveries {
            let (calls, ends) = (Counter(), Log<ObservationEnd>())
            let token = group.observe(delivery: delivery) { _ in calls.increment() }
            #expect(!token.isActive)
            #expect(first.observationCount == 0)
            first.value += 1
            ends.append(await withCheckedContinuation { ended in token.onEnd { ended.resume(returning: $0) } })
            #expect(ends.entries == [.cancelled])
            #expect(calls.value == 0)
        }
        var iterator = group.changes(options: .initial).makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }
}
