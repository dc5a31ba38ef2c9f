// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Glibc
import Testing

extension Promises {
    @Suite("Quiet", .timeLimit(.minutes(1)), .leavesNothingBehind)
    struct QuietTests {
        fileprivate let queue = DispatchQueue(label: "quiet")
    }
}

extension Promises.QuietTests {
    @Test("Everything that was sent is delivered")
    func delivered() async throws {
        let (property, count) = (Observed(0), Counter())
        let token = property.observe(delivery: .queue(queue)) { _ in
            usleep(100)
            count.increment()
        }
        for number in 1...200 { property.value = number }
        try await whenQuiet()
        #expect(count.value == 200)
        token.cancel()
    }

    @Test("Quiet waits also for the deliveries that a delivery causes")
    func cascade() async throws {
        let properties = (0..<6).map { _ in Observed(0) }
        // The last first: waiting for one mailbox after the other once does not do.
        let tokens = zip(properties, properties.dropFirst()).reversed().map { from, to in
            from.observe(delivery: .queue(queue)) { change in
                usleep(2_000)
                to.value = change.new
            }
        }
        for number in 1...3 { properties[0].value = number }
        try await whenQuiet()
        #expect(properties[5].value == 3)
        withExtendedLifetime(tokens) {}
    }

    @Test("The closures of ended observations and the replaced values are destroyed")
    func destroyed() async throws {
        let deaths = Counter()
        let property = Observed(Mortal(deaths))
        for _ in 0..<50 {
            let mortal = Mortal(deaths)
            property.observe { (_: Change<Mortal>) in mortal.touch() }.cancel()
            property.value = Mortal(deaths)
        }
        try await whenQuiet()
        #expect(deaths.value == 100)
    }

    @Test("Eight threads send and end observations: each one finds its own delivered and destroyed")
    func race() async throws {
        let (count, deaths, property) = (Counter(), Counter(), Observed(0))
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let mortal = Mortal(deaths)
                        let token = property.observe(delivery: .serial()) { _ in mortal.touch() }
                        property.modify { $0 += 1 }
                        await token.flush()
                        count.increment()
                    }
                }
            }
        }
        try await whenQuiet()
        #expect(count.value == 400 && deaths.value == 400)
    }

    @Test("The error names the observer that is not quiet")
    func notQuiet() async throws {
        let (signal, property) = (Signal("the end"), Observed(0))
        let token = property.observe(delivery: .queue(queue)) { _ in signal.hold() }
        token.label = "display"
        for number in 1...3 { property.value = number }
        let error = await #expect(throws: NotQuiet.self) { try await whenQuiet(within: .milliseconds(50)) }
        let text = try #require(error).description
        #expect(text.contains("2 events for 'display', made by") && text.contains("at QuietTests.swift:"))
        #expect(text.contains("a callback of 'display' runs"))
        signal.happen()
        try await whenQuiet()
        token.cancel()
    }

    @Test("A cancelled task waits no longer")
    func cancellation() async throws {
        let (signal, property) = (Signal("the end"), Observed(0))
        let token = property.observe(delivery: .queue(queue)) { _ in signal.hold() }
        property.value = 1
        let task = Task { try await whenQuiet() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        signal.happen()
        token.cancel()
    }
}
