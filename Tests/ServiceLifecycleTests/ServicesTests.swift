// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import ConcurrentObserve
import ConcurrentObserveServiceLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

#if Configuration
import ConcurrentObserveConfiguration
import Configuration
#endif
#if Logging
import ConcurrentObserveLogging
import Logging
#endif
#if Metrics
import ConcurrentObserveMetrics
import CoreMetrics
#endif

@Suite("Services of the optional products", .timeLimit(.minutes(1)))
struct ServicesTests {
    @Test("A loop over changes ends at the graceful shutdown")
    func sequence() async {
        let property = Observed(0)
        await testGracefulShutdown { shutdown in
            var received: [Int] = []
            for await change in property.changes(options: .initial).cancelOnGracefulShutdown() {
                received.append(change.new)
                if change.new < 3 { property.value = change.new + 1 } else { shutdown.triggerGracefulShutdown() }
            }
            #expect(received == [0, 1, 2, 3])
        }
        property.value = 4
        // The modifier iterates in a task of its own, and does not wait for its end.
        while property.observationCount > 0 { await Task.yield() }
    }

    #if Configuration
    @Test("A follower of a configuration ends at the graceful shutdown")
    func follower() async throws {
        let (texts, workers) = (Observed(["workers": "2"]), Observed(1))
        let config = ConfigReader(provider: ObservedProvider(texts))
        let follower: any Service = ConfigFollower(workers, key: "workers", in: config)
        try await testGracefulShutdown { shutdown in
            async let service: Void = follower.run()
            _ = try await workers.first { $0 == 2 }
            shutdown.triggerGracefulShutdown()
            try await service
        }
        texts.value = ["workers": "3"]
        #expect(workers.value == 2)
    }
    #endif

    #if Metrics
    @Test("The metrics are published by their service, and once more at the shutdown")
    func metrics() async throws {
        let factory = CountingMetrics()
        let metrics: any Service = LibraryMetrics(factory: factory)
        try await testGracefulShutdown { shutdown in
            async let service: Void = metrics.run()
            while factory.published.value == 0 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(factory.published.value == 1)
            shutdown.triggerGracefulShutdown()
            try await service
        }
        #expect(factory.published.value == 2)
    }
    #endif

    #if Logging
    @Test("The watch lives until its service ends")
    func watch() async throws {
        weak var watch: StuckCallbackWatch?
        try await testGracefulShutdown { shutdown in
            let service = StuckCallbackWatch(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            watch = service
            let task = Task { try await (service as any Service).run() }
            try await Task.sleep(for: .milliseconds(20))
            #expect(watch != nil)
            shutdown.triggerGracefulShutdown()
            try await task.value
        }
        // The last look may still hold it.
        while watch != nil { try await Task.sleep(for: .milliseconds(1)) }
    }
    #endif
}

#if Metrics
/// Counts how often the number of observers is published.
private final class CountingMetrics: MetricsFactory {
    let published = Observed(0)

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        label.hasSuffix("_observers") ? Publications(published) : NOOPMetricsHandler.instance
    }
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        NOOPMetricsHandler.instance
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private final class Publications: MeterHandler {
        let published: Observed<Int>

        init(_ published: Observed<Int>) { self.published = published }

        func set(_ value: Int64) { published.modify { $0 += 1 } }
        func set(_ value: Double) { published.modify { $0 += 1 } }
        func increment(by: Double) {}
        func decrement(by: Double) {}
    }
}
#endif
#endif
