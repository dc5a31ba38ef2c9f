// SPDX-License-Identifier: Apache-2.0

#if Metrics
import ConcurrentObserve
import ConcurrentObserveMetrics
import ConcurrentObserveTesting
import CoreMetrics
import Dispatch
import MetricsTestKit
import Testing

/// Serialized: the figures are the process's.
@Suite("The library's metrics", .serialized, .timeLimit(.minutes(2)))
struct LibraryMetricsTests {
    private let system = TestMetrics()

    @Test("Observers are published")
    func observers() throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        let property = Observed(0)
        metrics.publish()
        let before = try value("observe_observers")
        let tokens = (0..<3).map { _ in property.observe { _ in } }
        metrics.publish()
        #expect(try value("observe_observers") == before + 3)
        for token in tokens { token.cancel() }
        metrics.publish()
        #expect(try value("observe_observers") == before)
    }

    @Test("Dropped events are counted, each once")
    func drops() throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        metrics.publish()
        let before = try dropped()
        // A queue that does not run: the second change is one too many.
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let property = Observed(0)
        let token = property.observe(delivery: .queue(queue, buffering: .droppingNewest(1))) { _ in }
        for value in 1...3 { property.value = value }
        metrics.publish()
        #expect(try dropped() == before + 2)
        metrics.publish()
        #expect(try dropped() == before + 2)
        // A delivery that has not begun is dropped, too.
        token.cancel()
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        metrics.publish()
        #expect(try dropped() == before + 3)
        #expect(token.deliveryCounts?.dropped == 3)
        queue.resume()
    }

    @Test("Observations whose token is not kept are counted, each once")
    func tokensReleasedEarly() throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        metrics.publish()
        let counter = try system.expectCounter("observe_tokens_released_early")
        let before = counter.totalValue
        let property = Observed(0)
        for _ in 0..<3 { _ = property.observe { _ in } }
        metrics.publish()
        metrics.publish()
        #expect(counter.totalValue == before + 3)
    }

    @Test("Events that wait are published, and the mailboxes with a label that have become large")
    func pending() async throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let property = Observed(0, label: "mileage")
        let token = property.observe(delivery: .queue(queue)) { _ in }
        for value in 1...3_000 { property.value = value }
        metrics.publish()
        #expect(try value("observe_pending_events") >= 3_000)
        #expect(try value("observe_peak_pending_events") >= 3_000)
        let mailbox = try system.expectMeter("observe_mailbox_pending_events", [("label", "mileage")])
        #expect(mailbox.lastValue == 3_000)
        queue.resume()
        await token.flush()
        metrics.publish()
        #expect(mailbox.lastValue == 0)
    }

    @Test("Reclaiming is counted, and the backlog falls to nothing")
    func reclamation() throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        metrics.publish()
        let before = try system.expectCounter("observe_reclaimed").totalValue
        let registry = ObserverRegistry<Int>()
        for _ in 0..<100 { registry.observe { _ in }.cancel() }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        metrics.publish()
        #expect(try system.expectCounter("observe_reclaimed").totalValue >= before + 100)
        // Items that other tests have retired may still wait.
        while try value("observe_backlog") > 0 { metrics.publish() }
        #expect(try system.expectCounter("observe_grace_periods").totalValue > 0)
    }

    @Test("The age of a callback that does not return is published")
    func stuck() throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        let registry = ObserverRegistry<Int>()
        let (entered, exit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let token = registry.observe { _ in
            entered.signal()
            exit.wait()
        }
        DispatchQueue.global().async { registry.notify(1) }
        entered.wait()
        metrics.publish()
        while try value("observe_oldest_callback_seconds") == 0 { metrics.publish() }
        exit.signal()
        #expect(token.cancelAndWaitBlocking() == .finished)
        repeat { metrics.publish() } while try value("observe_oldest_callback_seconds") > 0
    }

    @Test("Publishing again and again ends with its task")
    func run() async throws {
        let metrics = LibraryMetrics(prefix: "observe", factory: system)
        let clock = ManualClock()
        let task = Task { await metrics.run(every: .seconds(10), clock: clock) }
        for count in 1...3 {
            try await clock.whenSleeping()
            #expect(try system.expectMeter("observe_observers").values.count == count)
            clock.advance(by: .seconds(10))
        }
        task.cancel()
        await task.value
    }

    @Test("Publishing without a pause traps, and says so")
    func pause() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            await LibraryMetrics(prefix: "observe", factory: TestMetrics()).run(every: .zero)
        }
        #expect(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("busy") } == true)
    }

    @Test("A timed callback is called, and its duration recorded")
    func timing() throws {
        let (timer, clock) = (CoreMetrics.Timer(label: "callback", factory: system), ManualClock())
        let property = Observed(0)
        let received = Observed(0)
        let tokens = [
            property.observe(timer.timing { change in received.value = change.new }),
            property.observe(timer.timing(clock: clock) { _ in clock.advance(by: .seconds(1)) }),
            property.observe(
                timer.timing(clock: clock) { change, observation in
                    clock.advance(by: .seconds(2))
                    if change.version == 1 { observation.cancel() }
                }
            ),
        ]
        property.value = 5
        property.value = 6
        #expect(received.value == 6)
        let recorded = try system.expectTimer("callback").values
        #expect(recorded.count == 5)
        #expect(recorded.filter { $0 == 1_000_000_000 }.count == 2)
        #expect(recorded.filter { $0 == 2_000_000_000 }.count == 1)
        withExtendedLifetime(tokens) {}
    }

    private func value(_ name: String) throws -> Double {
        try #require(try system.expectMeter(name).lastValue)
    }

    private func dropped() throws -> Int64 { try system.expectCounter("observe_dropped_events").totalValue }
}
#endif
