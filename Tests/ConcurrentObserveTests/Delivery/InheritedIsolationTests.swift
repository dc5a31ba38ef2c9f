// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P2 P11 observeIsolated, of anything, in the code of an actor", .timeLimit(.minutes(2)))
    struct InheritedIsolationTests {}
}

/// The closure that is passed to `observeIsolated`.
private enum Passed: Sendable {
    /// A closure that uses its actor, one that does not, and a method of the actor.
    case mentioning, silent, method
}

/// Counts without a lock. Code that runs elsewhere traps, or loses counts.
private actor Desk {
    private(set) var count = 0

    func observe(_ thing: ObservableThing, _ passed: Passed) -> ObservationToken { thing.with(Use(self, passed)) }

    private func note<Value>(_ value: Value) {
        preconditionIsolated()
        count += 1
    }

    private struct Use: ObservableUse {
        let desk: Desk
        let passed: Passed

        init(_ desk: Desk, _ passed: Passed) { (self.desk, self.passed) = (desk, passed) }

        func observe<Property: ObservableProperty>(
            _ property: Property,
            _ number: @escaping @Sendable (Property.Value) -> Int
        ) -> ObservationToken {
            desk.assumeIsolated { $0.observe(property, passed) }
        }

        func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken {
            desk.assumeIsolated { $0.observe(registry, passed) }
        }
    }

    private func observe<Property: ObservableProperty>(_ property: Property, _ passed: Passed) -> ObservationToken {
        switch passed {
        case .mentioning: property.observeIsolated { _ in self.count += 1 }
        case .silent: property.observeIsolated { _ in }
        case .method: property.observeIsolated(note)
        }
    }

    private func observe(_ registry: ObserverRegistry<Int>, _ passed: Passed) -> ObservationToken {
        switch passed {
        case .mentioning: registry.observeIsolated { _ in self.count += 1 }
        case .silent: registry.observeIsolated { _ in }
        case .method: registry.observeIsolated(note)
        }
    }
}

/// A model on the main actor.
@MainActor private final class Screen {
    private(set) var count = 0

    func observe(_ thing: ObservableThing, _ passed: Passed) -> ObservationToken { thing.with(Use(self, passed)) }

    private func note<Value>(_ value: Value) {
        MainActor.preconditionIsolated()
        count += 1
    }

    private struct Use: ObservableUse {
        let screen: Screen
        let passed: Passed

        init(_ screen: Screen, _ passed: Passed) { (self.screen, self.passed) = (screen, passed) }

        func observe<Property: ObservableProperty>(
            _ property: Property,
            _ number: @escaping @Sendable (Property.Value) -> Int
        ) -> ObservationToken {
            MainActor.assumeIsolated { screen.observe(property, passed) }
        }

        func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken {
            MainActor.assumeIsolated { screen.observe(registry, passed) }
        }
    }

    private func observe<Property: ObservableProperty>(_ property: Property, _ passed: Passed) -> ObservationToken {
        switch passed {
        case .mentioning: property.observeIsolated { _ in self.count += 1 }
        case .silent: property.observeIsolated { _ in }
        case .method: property.observeIsolated(note)
        }
    }

    private func observe(_ registry: ObserverRegistry<Int>, _ passed: Passed) -> ObservationToken {
        switch passed {
        case .mentioning: registry.observeIsolated { _ in self.count += 1 }
        case .silent: registry.observeIsolated { _ in }
        case .method: registry.observeIsolated(note)
        }
    }
}

extension Promises.InheritedIsolationTests {
    @Test("P2 In an actor's code: closures and methods run on that actor", arguments: ObservableKind.allCases)
    func onAnActor(kind: ObservableKind) async throws {
        for passed in [Passed.mentioning, .method] {
            let (desk, thing) = (Desk(), ObservableThing(kind))
            let token = await desk.observe(thing, passed)
            for number in 1...100 { thing.send(number) }
            #expect(await token.flush())
            #expect(await desk.count == 100)
            #expect(token.counts.parts == [100, 100, 0])
        }
    }

    @Test("P2 In a @MainActor class: closures and methods run there", arguments: ObservableKind.allCases)
    @MainActor
    func onTheMainActor(kind: ObservableKind) async throws {
        for passed in [Passed.mentioning, .method] {
            let (screen, thing) = (Screen(), ObservableThing(kind))
            let token = screen.observe(thing, passed)
            for number in 1...100 { thing.send(number) }
            #expect(screen.count == 0)
            #expect(await token.flush())
            #expect(screen.count == 100)
            token.cancel()
        }
    }

    @Test(
        "P11 A closure that does not mention its actor does not retain it: the observation ends with the actor",
        arguments: ObservableKind.allCases
    )
    func notRetained(kind: ObservableKind) async throws {
        let thing = ObservableThing(kind)
        let ends = Log<ObservationEnd>()
        var desk: Desk? = Desk()
        let weak = Weak(desk!)
        let token = await desk!.observe(thing, .silent).onEnd { ends.append($0) }
        thing.send(1)
        #expect(await token.flush())
        desk = nil
        try await eventuallyAsync("the actor's end") { weak.object == nil }
        thing.send(2)
        try await eventuallyAsync("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(!token.isActive)
    }
}
