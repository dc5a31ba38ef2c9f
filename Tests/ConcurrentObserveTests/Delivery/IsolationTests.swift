// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("P2 Where callbacks run that carry their isolation")
    struct IsolationTests {}
}

/// A global actor that is not the main one.
@globalActor
private actor Studio {
    static let shared = Studio()
}

/// Counts in isolation, without a lock. If counts are lost, the callbacks were not isolated.
private actor Tally {
    private var count = 0

    func add(_ change: Change<Int>) {
        preconditionIsolated()
        count += 1
    }

    var total: Int { count }

    /// Observes with a closure or a method of this actor.
    func observe(_ stage: Stage, _ form: Form) -> ObservationToken {
        switch (form, stage.origin) {
        case (.closure, .property):
            stage.property.value!.observeIsolated(buffering: .unbounded) { _ in self.count += 1 }
        case (.closure, .path):
            stage.car.value!.property(\.axle.wheel.pressure).observeIsolated(buffering: .unbounded) { _ in
                self.count += 1
            }
        case (.closure, .registry):
            stage.registry.value!.observeIsolated(buffering: .unbounded) { _ in self.count += 1 }
        case (.method, .property): stage.property.value!.observeIsolated(buffering: .unbounded, note)
        case (.method, .path):
            stage.car.value!.property(\.axle.wheel.pressure).observeIsolated(buffering: .unbounded, self.note)
        case (.method, .registry): stage.registry.value!.observeIsolated(buffering: .unbounded, noteEvent)
        }
    }

    private func note(_ change: Change<Int>) { count += 1 }
    private func noteEvent(_ number: Int) { count += 1 }

    /// Observes with a closure that does not use the actor.
    func observe(_ property: Observed<Int>) -> ObservationToken {
        property.observeIsolated(buffering: .unbounded) { (_: Change<Int>) in }
    }

    func observeOn(_ other: Tally, _ property: Observed<Int>) {
        _ = property.observeIsolated(buffering: .unbounded, isolation: other, note)
    }

    /// Counts on this actor while callbacks can come. A callback that ran elsewhere would lose
    /// counts.
    func tallyUp(while isGoingOn: @Sendable () -> Bool) async {
        while isGoingOn() {
            for _ in 0..<1_000 {
                count += 1
                count -= 1
            }
            await Task.yield()
        }
    }
}

@MainActor private final class Screen {
    private(set) var count = 0

    func observe(_ property: Observed<Int>, _ form: Form) -> ObservationToken {
        switch form {
        case .closure: property.observeIsolated(buffering: .unbounded) { _ in self.count += 1 }
        case .method: property.observeIsolated(buffering: .unbounded, note)
        }
    }

    private func note(_ change: Change<Int>) {
        MainActor.preconditionIsolated()
        count += 1
    }
}

/// A class that is not `Sendable`, because of what its deinitialiser does.
@MainActor private final class Window {
    private let gone: Signal

    init(_ gone: Signal) { self.gone = gone }

    func touch() {}

    isolated deinit {
        MainActor.preconditionIsolated()
        gone.happen()
    }
}

/// The form of the callback that is passed to `observe`.
enum Form: String, CaseIterable, Sendable {
    case closure, method
}

extension Promises.IsolationTests {
    @Test(
        "P2 A closure on a global actor runs there: the main one, and another; of properties, paths and registries",
        .leavesNothingBehind
    )
    func globalActors() async throws {
        let (property, car, registry) = (Observed(0), Car(0), ObserverRegistry<Int>())
        let calls = Counter()
        let tokens = [
            property.observeIsolated(buffering: .unbounded) { @MainActor _ in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            car.property(\.axle.wheel.pressure).observeIsolated(buffering: .unbounded) { @MainActor _ in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            registry.observeIsolated(buffering: .unbounded) { @MainActor _ in
                MainActor.preconditionIsolated()
                calls.increment()
            },
            property.observeIsolated(buffering: .latest) { @Studio _ in
                Studio.shared.preconditionIsolated()
                calls.increment()
            },
            property.observe(on: MainActor.shared) { actor, _ in
                actor.preconditionIsolated()
                calls.increment()
            },
        ]
        property.value = 1
        car.setPressure(1)
        registry.notify(1)
        try await whenQuiet()
        #expect(calls.value == 5)
        withExtendedLifetime(tokens) {}
    }

    @Test("P2 On the main actor, cancelling silences at once")
    @MainActor
    func cancelOnTheMainActor() async throws {
        let property = Observed(0)
        var received = 0
        let first = Signal("the first callback")
        let token = property.observeIsolated(buffering: .unbounded) { @MainActor _ in
            received += 1
            first.happen()
        }
        for number in 1...100 { property.value = number }
        #expect(received == 0)
        try await first.arrival()
        #expect(received > 0)
        for number in 1...100 { property.value = number }
        token.cancel()
        let last = received
        for _ in 0..<100 { await Task.yield() }
        #expect(received == last)
    }

    @Test("P2 The closure receives its actor, isolated: its state needs no lock", arguments: Origin.versioned)
    func isolatedParameter(origin: Origin) async throws {
        let (tally, property, car) = (Tally(), Observed(0), Car(0))
        let token =
            origin == .property
            ? property.observe(on: tally) { tally, change in tally.add(change) }
            : car.property(\.axle.wheel.pressure).observe(on: tally) { tally, change in tally.add(change) }
        try onThreads(3) { _ in
            for number in 1...500 {
                property.value = number
                car.setPressure(number)
            }
        }
        try await eventuallyAsync("all changes") { token.counts.pending == 0 }
        #expect(await tally.total == 1_500)
    }

    @Test("P2 What an actor passes in its own code runs there", arguments: Form.allCases, Origin.allCases)
    func inTheActorsCode(form: Form, origin: Origin) async throws {
        let (tally, stage) = (Tally(), Stage(origin))
        let token = await tally.observe(stage, form)
        try onThreads(3) { _ in for number in 1...500 { stage.send(number) } }
        await tally.tallyUp(while: { token.counts.pending > 0 })
        #expect(await token.flush())
        #expect(await tally.total == 1_500)
        token.cancel()
    }

    @Test("P2 What a @MainActor type passes in its own code runs there", arguments: Form.allCases)
    @MainActor
    func inTheMainActorsCode(form: Form) async throws {
        let (screen, stage) = (Screen(), Stage(.property))
        let token = screen.observe(stage.property.value!, form)
        stage.send(1)
        #expect(screen.count == 0)
        #expect(await token.flush())
        #expect(screen.count == 1)
        token.cancel()
    }

    @Test("P11 An actor whose closure does not mention it is not retained; its death ends the observation")
    func theActorIsNotRetained() async throws {
        let property = Observed(0)
        var tally: Tally? = Tally()
        let token = await tally!.observe(property)
        let (weak, reason) = (Weak(tally!), Log<ObservationEnd>())
        token.onEnd { reason.append($0) }
        #expect(token.isActive)
        tally = nil
        #expect(weak.object == nil)
        property.value = 1
        try await eventuallyAsync("the end") { reason.entries == [.ownerDeleted] }
    }

    @Test(
        "P14 An isolated deinit of a capture runs on its actor, whichever thread destroys the closure",
        arguments: [false, true]
    )
    func isolatedDeinit(waits: Bool) async throws {
        let gone = Signal("the window's deinit")
        let property = Observed(0)
        let token = await MainActor.run {
            let window = Window(gone)
            return property.observeIsolated(buffering: .unbounded) { @MainActor _ in window.touch() }
        }
        if waits { await token.cancelAndWait() } else { token.cancel() }
        try await gone.arrival()
    }

    /// The uses in which the actor of a closure cannot be known.
    enum Homeless: String, CaseIterable, Codable, Sendable {
        case property, path, registry, otherActor

        func begin() async {
            switch self {
            case .property: _ = Observed(0).observeIsolated(buffering: .latest) { _ in }
            case .path: _ = Car(0).property(\.axle.wheel.pressure).observeIsolated(buffering: .latest) { _ in }
            case .registry: _ = ObserverRegistry<Int>().observeIsolated(buffering: .latest) { _ in }
            case .otherActor: await Tally().observeOn(Tally(), Observed(0))
            }
        }
    }

    @Test(
        "P2 A closure that belongs to no actor traps, and so does one for another actor",
        arguments: Homeless.allCases
    )
    func homeless(how: Homeless) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [how] in
            Process.limitLife(seconds: 20)
            await how.begin()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        // The runtime has a message of its own for an actor that is not the caller's.
        let message =
            how == .otherActor
            ? "Incorrect actor executor assumption" : "ConcurrentObserve: observeIsolated was given a closure that"
        #expect(text.contains(message), "\(text.prefix(500))")
    }

    @Test("P2 An inline callback runs on the changing thread, before the change returns")
    func inline() throws {
        let stage = Observed(0)
        let threads = Log<Int>()
        let tokens = [
            stage.observe(delivery: .inline) { (_: Change<Int>) in threads.append(threadNumber()) },
            stage.observe(delivery: .serial()) { (_: Change<Int>) in threads.append(threadNumber()) },
        ]
        let expected = Log<Int>()
        try onNewThread {
            expected.append(threadNumber())
            stage.value = 1
            #expect(threads.count == 2)
        }
        #expect(threads.entries == [expected.entries[0], expected.entries[0]])
        withExtendedLifetime(tokens) {}
    }
}
