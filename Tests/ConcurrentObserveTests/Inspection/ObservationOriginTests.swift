// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
import ConcurrentObserveTesting
import Dispatch
import Testing

extension Promises {
    @Suite("Observations by origin", .timeLimit(.minutes(2)))
    final class ObservationOriginTests {
        let clock = ManualClock()

        init() { ConcurrentObserveDiagnostics.startRecording(clock: clock) }
        deinit { ConcurrentObserveDiagnostics.stopRecording() }
    }
}

extension Promises.ObservationOriginTests {
    /// The report, without what other tests have left.
    private var origins: [ObservationOrigin] {
        ConcurrentObserveDiagnostics.observationsByOrigin().filter { $0.place.hasPrefix("ObservationOriginTests") }
    }

    @Test("Planted leaks are found where they were made, the oldest first, with count and ages")
    func leaks() async {
        let property = Observed(0)
        var kept: [ObservationToken] = []
        let line = #line + 1
        for _ in 0..<3 { kept.append(property.observe { (_: Change<Int>) in }); clock.advance(by: .seconds(10)) }
        clock.advance(by: .seconds(10))
        kept.append(property.observe(delivery: .serial()) { (_: Change<Int>) in })
        kept[3].label = "session"
        let ended = property.observe { (_: Change<Int>) in }
        await ended.cancelAndWait()
        clock.advance(by: .milliseconds(1_500))
        #expect(
            origins.map(\.description) == [
                "ObservationOriginTests.swift:\(line): 3, oldest 41.5 s, newest 21.5 s",
                "ObservationOriginTests.swift:\(line + 2) 'session': 1, oldest 1.5 s, newest 1.5 s",
            ]
        )
        #expect(origins.first?.count == 3 && origins.first?.label == nil)
        #expect(origins.first?.ages == .milliseconds(21_500) ... .milliseconds(41_500))
        for token in kept.dropFirst() { await token.cancelAndWait() }
        #expect(origins.map(\.count) == [1])
        withExtendedLifetime(kept) {}
    }

    @Test("Each kind of observation counts once")
    func kinds() {
        final class Engine: ConcurrentObservable { let rpm = Observed(0) }
        final class Car: ConcurrentObservable { let engine = Observed(Engine()) }
        let (car, property, target, registry) = (Car(), Observed(0), Observed(0), ObserverRegistry<Int>())
        let line = #line + 1
        let first = registry.observe { _ in }
        let second = property.observe(delivery: .queue(DispatchQueue(label: "queue"))) { (_: Change<Int>) in }
        let third = Group(property, target).observe(delivery: .serial()) { _ in }
        let fourth = property.map { $0 + 1 }.observe { (_: Change<Int>) in }
        let fifth = property.bind(to: target)
        let sixth = property.bindBidirectionally(with: target)
        let seventh = property.values().makeAsyncIterator()
        let eighth = car.property(\.engine.rpm).observe { (_: Change<Int>) in }
        let ninth = car.property(\.engine.rpm).observe(delivery: .serial()) { (_: Change<Int>) in }
        let found = origins.map { "\($0.place): \($0.count)" }.sorted()
        #expect(found == (line...line + 8).map { "ObservationOriginTests.swift:\($0): 1" }.sorted())
        withExtendedLifetime((first, second, third, fourth, fifth, sixth, seventh, eighth, ninth)) {}
    }

    @Test("A dead owner's observation is gone; after the recording nothing is known, and nothing is kept")
    func ends() throws {
        final class Owner: Sendable {}
        let property = Observed(0)
        var owner: Owner? = Owner()
        property.observe(owner: owner!) { (_: Owner, _: Change<Int>) in }.store(in: ObservationBag.kept)
        #expect(origins.count == 1)
        owner = nil
        #expect(origins.isEmpty)
        let token = property.observe { (_: Change<Int>) in }
        #expect(origins.count == 1)
        ConcurrentObserveDiagnostics.stopRecording()
        #expect(ConcurrentObserveDiagnostics.observationsByOrigin().isEmpty)
        ConcurrentObserveDiagnostics.startRecording(clock: clock)
        #expect(origins.isEmpty)
        withExtendedLifetime(token) {}
    }
}

extension ObservationBag {
    fileprivate static let kept = ObservationBag()
}
