// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
import ConcurrentObservePlatform
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
    /// The report, without the observations that other tests have left.
    private static var origins: [ObservationOrigin] {
        ConcurrentObserveDiagnostics.observationsByOrigin().filter { $0.place.hasPrefix("ObservationOriginTests") }
    }
    private var origins: [ObservationOrigin] { Self.origins }

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

    @Test("Call stacks that end in one line are looked up once")
    func stacks() throws {
        let property = Observed(0)
        var kept: [ObservationToken] = []
        func timeOfLook() -> Duration { ContinuousClock().measure { _ = origins } }
        kept.append(property.observe { (_: Change<Int>) in })
        let first = timeOfLook()
        let line = #line + 1
        for number in 0..<256 { nested(8, number) { kept.append(property.observe { (_: Change<Int>) in }) } }
        // A look-up for each stack would take 256 times the first.
        #expect(timeOfLook() < first * 32)
        #expect(origins.map { "\($0.place): \($0.count)" }.contains("ObservationOriginTests.swift:\(line): 256"))
        withExtendedLifetime(kept) {}
    }

    /// Calls `body` through calls that depend on the bits of `path`.
    private func nested(_ depth: Int, _ path: Int, _ body: () -> Void) {
        if depth == 0 { return body() }
        if path & 1 == 0 { nested(depth - 1, path >> 1, body) } else { nested(depth - 1, path >> 1, body) }
    }

    @Test("Many threads that look at once get the same answer")
    func threads() {
        let property = Observed(0)
        var kept: [ObservationToken] = []
        for number in 0..<8 { nested(4, number) { kept.append(property.observe { (_: Change<Int>) in }) } }
        let counts = [Observed(0), Observed(0), Observed(0), Observed(0)]
        DispatchQueue.concurrentPerform(iterations: counts.count) { thread in
            counts[thread].value = Self.origins.map(\.count).max() ?? 0
        }
        #expect(counts.map(\.value) == [8, 8, 8, 8])
        withExtendedLifetime(kept) {}
    }

    @Test("No function of the runtime is shown as a place")
    func runtime() async throws {
        let property = Observed(0)
        let tasks = [
            Task.detached { await property.values().first { @Sendable in $0 == 1 } },
            Task.detached { try? await property.first { @Sendable in $0 == 1 } },
        ]
        while property.observationCount < 2 { await Task.yield() }
        let places = ConcurrentObserveDiagnostics.observationsByOrigin().map(\.place)
        #expect(!places.isEmpty && !places.contains { $0.hasPrefix("swift::") || $0.hasPrefix("swift_") })
        property.value = 1
        for task in tasks { #expect(await task.value == 1) }
    }

    @Test("No function of the library is shown as a place")
    func library() {
        let places = LibraryThread.run(named: "observe-test") { ConcurrentObserveInspection.Origin.capture().places() }
        #expect(!places.isEmpty)
        #expect(Set(places.map(\.file)) == ["ObservationOriginTests.swift"])
    }

    @Test("The clock may change the property that is being observed")
    func clockThatChanges() {
        let (property, registry, target) = (Observed(0), ObserverRegistry<Int>(), Observed(0))
        ConcurrentObserveDiagnostics.stopRecording()
        ConcurrentObserveDiagnostics.startRecording(clock: ChangingClock(property: property))
        let before = property.value
        let tokens = [
            property.observe { (_: Change<Int>) in }, property.observe(delivery: .serial()) { (_: Change<Int>) in },
            registry.observe { _ in }, property.map { $0 + 1 }.observe { (_: Change<Int>) in },
            Group(property, target).observe { _ in }, property.bind(to: target),
        ]
        #expect(property.value >= before + tokens.count)
        #expect(origins.map(\.count).reduce(0, +) == tokens.count)
        withExtendedLifetime(tokens) {}
    }

    @Test("A label cannot begin a line")
    func labels() {
        let property = Observed(0, label: "a\n  → callback 'b")
        let token = property.observe { (_: Change<Int>) in }
        token.label = "c\u{2028}d"
        let line = #line - 2
        #expect(
            ConcurrentObserveDiagnostics.graph(of: property).description == """
                'a\\n  → callback 'b', property
                  → callback 'c\\u{2028}d' (ObservationOriginTests.swift:\(line))
                """
        )
        #expect(origins.first?.description.contains("'c\\u{2028}d'") == true)
        withExtendedLifetime(token) {}
    }
}

/// A clock whose `now` changes a property.
private struct ChangingClock: Clock {
    let property: Observed<Int>

    var now: ContinuousClock.Instant {
        property.modify { $0 += 1 }
        return .now
    }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}

extension ObservationBag {
    fileprivate static let kept = ObservationBag()
}
