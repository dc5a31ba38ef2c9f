// SPDX-License-Identifier: Apache-2.0

#if Logging
import ConcurrentObserve
import ConcurrentObserveLogging
import ConcurrentObserveTesting
import Dispatch
import InMemoryLogging
import Logging
import Testing

/// Serialized: a watch sees every callback of the process. Each test waits until its own have
/// returned.
@Suite("The watch for stuck callbacks", .serialized, .timeLimit(.minutes(2)))
struct StuckCallbackWatchTests {
    private let handler = InMemoryLogHandler()
    private var logger: Logger { Logger(label: "test") { [handler] _ in handler } }

    /// The watch is set to warn at once; the test waits for the warning, however long that takes.
    private var watch: StuckCallbackWatch {
        StuckCallbackWatch(logger: logger, limit: .milliseconds(20), interval: .milliseconds(5))
    }

    @Test("A stuck callback of a labelled registry is warned of once, and reported when it has returned")
    func labelled() async throws {
        let registry = ObserverRegistry<Int>(label: "logins")
        let stuck = Stuck()
        let token = registry.observe { _ in stuck.hold() }
        let clock = ManualClock()
        let watch = StuckCallbackWatch(logger: logger, limit: .seconds(3), clock: clock)
        // The first look, which finds nothing.
        try await clock.whenSleeping()
        func look() async throws {
            clock.advance(by: .seconds(1))
            try await clock.whenSleeping()
        }
        try await stuck.whileHeld {
            registry.notify(1)
        } _: {
            // The age counts from the first of these looks.
            for _ in 0..<3 { try await look() }
            #expect(handler.entries.isEmpty)
            // The fourth look warns, and those after it must not repeat it.
            for _ in 0..<4 { try await look() }
            #expect(handler.entries.count == 1)
        }
        while handler.entries.count < 2 { try await look() }
        let (warning, notice) = (handler.entries[0], handler.entries[1])
        #expect(warning.level == .warning)
        #expect(warning.message == "a callback of 'logins' does not return")
        #expect(warning.metadata["label"] == "logins")
        #expect(warning.metadata["running-seconds"] == "3.0")
        #expect(notice.level == .notice)
        #expect(notice.message == "a callback of 'logins' has returned at last")
        await token.cancelAndWait()
        withExtendedLifetime(watch) {}
    }

    @Test("Also where it is delivered on a queue")
    func queue() async throws {
        let registry = ObserverRegistry<Int>(label: "mail")
        let stuck = Stuck()
        let token = registry.observe(delivery: .queue(DispatchQueue(label: "test"))) { _ in stuck.hold() }
        let watch = watch
        try await stuck.whileHeld {
            registry.notify(1)
        } _: {
            try await eventually { handler.entries.contains { $0.metadata["label"] == "mail" } }
        }
        await token.cancelAndWait()
        withExtendedLifetime(watch) {}
    }

    @Test("A stuck callback of a property is warned of without a label")
    func property() async throws {
        let property = Observed(0)
        let stuck = Stuck()
        let token = property.observe { _ in stuck.hold() }
        let watch = watch
        try await stuck.whileHeld {
            property.value = 1
        } _: {
            try await eventually { !handler.entries.isEmpty }
        }
        #expect(handler.entries[0].metadata["label"] == nil)
        #expect(handler.entries[0].level == .warning)
        await token.cancelAndWait()
        withExtendedLifetime(watch) {}
    }

    @Test("A mailbox that grows is warned of with its label, and reported when it has shrunk")
    func mailbox() async throws {
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let property = Observed(0, label: "mileage")
        let token = property.observe(delivery: .queue(queue)) { _ in }
        let watch = StuckCallbackWatch(
            logger: logger,
            limit: .seconds(3_600),
            interval: .milliseconds(5),
            pendingLimit: 2_000
        )
        for value in 1...3_000 { property.value = value }
        try await eventually { handler.entries.count == 1 }
        let warning = handler.entries[0]
        #expect(warning.level == .warning && warning.message == "the mailbox of 'mileage' grows")
        #expect(warning.metadata["label"] == "mileage")
        #expect((Int(warning.metadata["pending-events"]?.description ?? "") ?? 0) > 2_000)
        #expect((Int(warning.metadata["process-peak-pending-events"]?.description ?? "") ?? 0) > 2_000)
        queue.resume()
        await token.flush()
        try await eventually { handler.entries.contains { $0.level == .notice } }
        #expect(handler.entries.last?.message == "the mailbox of 'mileage' has shrunk again")
        withExtendedLifetime(watch) {}
    }

    @Test("It goes on while every thread of the cooperative pool is blocked")
    func pool() async throws {
        let registry = ObserverRegistry<Int>(label: "pool")
        let stuck = Stuck()
        let token = registry.observe { _ in stuck.hold() }
        let watch = watch
        let handler = handler
        let warned = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                // As many as there are threads, and more.
                for _ in 0..<64 { Task.detached { registry.notify(1) } }
                let deadline = ContinuousClock.now + .seconds(20)
                let pause = DispatchSemaphore(value: 0)
                var warned = false
                while !warned, .now < deadline {
                    _ = pause.wait(timeout: .now() + .milliseconds(1))
                    warned = handler.entries.contains { $0.metadata["label"] == "pool" }
                }
                stuck.release(64)
                continuation.resume(returning: warned)
            }
        }
        #expect(warned)
        await token.cancelAndWait()
        withExtendedLifetime(watch) {}
    }

    @Test("It ends with its last reference, and short callbacks are not warned of")
    func end() async throws {
        weak var weakWatch: StuckCallbackWatch?
        do {
            let watch = StuckCallbackWatch(logger: logger, limit: .seconds(60), interval: .milliseconds(1))
            weakWatch = watch
            let registry = ObserverRegistry<Int>(label: "short")
            let token = registry.observe { _ in }
            for event in 0..<1_000 { registry.notify(event) }
            withExtendedLifetime((token, watch)) {}
        }
        try await eventually { weakWatch == nil }
        #expect(handler.entries.isEmpty)
    }
}

/// A callback that is held until it is let go.
private final class Stuck: Sendable {
    private let entered = DispatchSemaphore(value: 0)
    private let exit = DispatchSemaphore(value: 0)

    /// In the callback.
    func hold() {
        entered.signal()
        exit.wait()
    }

    func release(_ count: Int = 1) { for _ in 0..<count { exit.signal() } }

    /// Runs `notify` on another thread, and `body` while the callback that this calls is held.
    func whileHeld(_ notify: @escaping @Sendable () -> Void, _ body: () async throws -> Void) async throws {
        DispatchQueue.global().async(execute: notify)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.entered.wait()
                continuation.resume()
            }
        }
        defer { release() }
        try await body()
    }
}

private struct InVain: Error {}

/// Waits until `condition` holds.
private func eventually(_ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !condition() {
        if .now > deadline { throw InVain() }
        try await Task.sleep(for: .milliseconds(1))
    }
}
#endif
