// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 The traps of modify")
    struct P05ModifyMisuseTests {}
}

/// An operation that is forbidden on a property inside its own `modify`.
enum Misuse: String, CaseIterable, Codable, Sendable {
    case set, exchange, compareExchange, compareExchangeInVain, modify, observe, observeInitial, observeValues
    case observeWithHandle, observeForOwner, observeRemovingDuplicates

    func commit(_ property: Observed<Int>) {
        switch self {
        case .set: property.value = 1
        case .exchange: property.exchange(1)
        case .compareExchange: property.compareExchange(expected: 0, desired: 1)
        case .compareExchangeInVain: property.compareExchange(expected: 7, desired: 1)
        case .modify: property.modify { $0 += 1 }
        case .observe: _ = property.observe { (_: Change<Int>) in }
        case .observeInitial: _ = property.observe(options: .initial) { (_: Change<Int>) in }
        case .observeValues: _ = property.observeValues { _ in }
        case .observeWithHandle: _ = property.observe { _, _ in }
        case .observeForOwner: _ = property.observe(owner: property) { _, _ in }
        case .observeRemovingDuplicates: _ = property.removingDuplicates().observe { _ in }
        }
    }

    /// The mistake and the remedy in the message.
    var message: String {
        switch self {
        case .set, .exchange, .compareExchange, .compareExchangeInVain:
            "a property was set inside the body of its own modify or commit. Assign to the body's parameter instead"
        case .modify:
            "modify or commit was called inside the body of a modify or a commit of the same property. Make all changes to"
        default: "a property was observed inside the body of its own modify or commit. Call observe before or after it."
        }
    }
}

/// The place of the misuse.
enum Place: String, CaseIterable, Codable, Sendable {
    case body, initialOfAnother, commit, withValue, comparison

    func enter(_ property: Observed<Int>, _ misuse: @escaping @Sendable () -> Void) {
        let other = Observed(Compared(0))
        switch self {
        case .body: property.modify { _ in misuse() }
        case .initialOfAnother:
            property.modify { _ in other.observe(options: .initial) { _ in misuse() }.cancel() }
        case .commit: Group(property, other).commit { _ in misuse() }
        case .withValue: property.modify { _ in property.withValue { _ in misuse() } }
        case .comparison:
            property.modify { _ in
                _ = other.compareExchange(expected: Compared(1, atComparison: misuse), desired: Compared(2))
            }
        }
    }
}

extension Promises.P05ModifyMisuseTests {
    @Test(
        "P5 A change or a registration inside the property's own modify traps and says why",
        arguments: Misuse.allCases
    )
    func traps(misuse: Misuse) async { await expectTrap(misuse, .body) }

    @Test(
        "P5 It traps also when something else stands between",
        arguments: Place.allCases,
        [Misuse.set, .modify, .observe]
    )
    func trapsIndirectly(place: Place, misuse: Misuse) async { await expectTrap(misuse, place) }

    private func expectTrap(_ misuse: Misuse, _ place: Place) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [misuse, place] in
            // Waiting for itself would end otherwise: in silence.
            Process.limitLife(seconds: 20)
            let property = Observed(0)
            place.enter(property) { misuse.commit(property) }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ConcurrentObserve: " + misuse.message), "\(text.prefix(1_000))")
    }

    @Test(
        "P5 Other threads do not trap: changes wait for the body, registrations do not",
        arguments: Misuse.allCases
    )
    func otherThreads(misuse: Misuse) throws {
        guard misuse != .compareExchangeInVain else { return }
        let property = Observed(0)
        let done = Signal("the other thread's call")
        let other = Slot<TestThread>()
        property.modify { value in
            other.put(
                TestThread {
                    misuse.commit(property)
                    done.happen()
                }
            )
            if misuse.message.contains("observed") {
                #expect(done.happens(within: patience))
            } else {
                #expect(!done.happens(within: .milliseconds(5)))
            }
        }
        try done.wait()
        try other.take()?.join()
    }

    @Test(
        "P5 A path that leads through or to the property traps in its modify as well",
        arguments: PathMisuse.allCases
    )
    func paths(misuse: PathMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [misuse] in
            Process.limitLife(seconds: 20)
            let car = Car(0)
            if misuse == .throughTheProperty {
                car.axle.value.wheel.modify { _ in misuse.commit(car) }
            } else {
                car.axle.value.wheel.value.pressure.modify { _ in misuse.commit(car) }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ConcurrentObserve: " + Misuse.observe.message), "\(text.prefix(1_000))")
    }

    @Test("P5 A path that is there already is relinked in the body of its new end")
    func relinking() {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let wheel = Wheel(1)
        wheel.pressure.modify { value in
            #expect(anotherThreadFinishes { car.axle.value.wheel.value = wheel })
            value = 2
        }
        #expect(received.mistakes(from: 0).isEmpty)
        #expect(received.chain.map(\.new) == [1, 2])
        withExtendedLifetime(token) {}
    }
}

/// The ways to observe a path inside the `modify` of a property on its way.
enum PathMisuse: String, CaseIterable, Codable, Sendable {
    case observe, observeInitial, observeSerially, observeInGroup, bind, throughTheProperty

    func commit(_ car: Car) {
        let path = car.property(\.axle.wheel.pressure)
        switch self {
        case .observe, .throughTheProperty: _ = path.observe { (_: Change<Int>) in }
        case .observeInitial: _ = path.observe(options: .initial) { (_: Change<Int>) in }
        case .observeSerially: _ = path.observe(delivery: .serial()) { (_: Change<Int>) in }
        case .observeInGroup: _ = Group(path, car.mileage).observe { _ in }
        case .bind: _ = path.bind(to: Observed(0))
        }
    }
}
