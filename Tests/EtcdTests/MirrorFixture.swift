// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveCollections
@testable import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import CoreMetrics
import Foundation
import Logging
import Synchronization
import Testing

extension EtcdConfiguration {
    /// Short times, so that tests are short; the order of the servers is the test's.
    static func test(_ urls: [String]) -> EtcdConfiguration {
        var configuration = EtcdConfiguration(endpoints: urls)
        configuration.serverOrder = .asGiven
        configuration.requestTimeout = .seconds(1)
        configuration.probeTimeout = .seconds(1)
        configuration.probeInterval = .milliseconds(250)
        configuration.backoff.first = .milliseconds(20)
        configuration.backoff.longest = .milliseconds(250)
        configuration.backoff.afterFailure = .milliseconds(500)
        return configuration
    }
}

/// Runs a mirror for as long as a test needs it.
func withMirror<Engine: MirrorEngine, Value: Sendable, Result: Sendable>(
    _ mirror: EngineMirror<Engine, Value>,
    ready: Bool = true,
    _ body: (EngineMirror<Engine, Value>) async throws -> Result
) async throws -> Result {
    let task = Task { try await mirror.run() }
    defer { task.cancel() }
    if ready { try await mirror.waitUntilReady(within: .seconds(15)) }
    let result = try await body(mirror)
    task.cancel()
    _ = await task.result
    return result
}

/// Waits for a condition that something else brings about.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(15),
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        if ContinuousClock.now > deadline { throw TestFailure("not within \(limit): \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Waits for a condition, while a clock advances by a step at a time.
///
/// - Parameter sleepers: How many tasks must sleep before a step, one of these numbers: a task that
///   does not, asks the engine, and no time passes until it has the answer. Empty for any number.
func eventually(
    _ what: String,
    advancing clock: ManualClock,
    by step: Duration,
    whileSleeping sleepers: Set<Int> = [],
    _ condition: () async throws -> Bool
) async throws {
    try await eventually(what) {
        if try await condition() { return true }
        if sleepers.isEmpty || sleepers.contains(clock.sleepers) { clock.advance(by: step) }
        return false
    }
}

extension EngineMirror {
    /// Whether so many sessions have ended, and the mirror does nothing before the clock advances:
    /// what sleeps is the pause before the next session, and the look at the contents' age.
    func isPaused(_ clock: ManualClock, _ metrics: TestMetrics, after sessions: Int) -> Bool {
        metrics[engine: Engine.name, "ended_sessions_total"] == sessions && clock.sleepers == 2
    }
}

extension PersistentDictionary where Key == MirrorKey {
    func mapValues<Result>(_ transform: (Value) -> Result) -> [MirrorKey: Result] {
        [MirrorKey: Result](uniqueKeysWithValues: map { ($0.key, transform($0.value)) })
    }
}

/// The values that a property has shown since the recording began.
final class Recording<Value: Sendable>: Sendable {
    private let recorded: Observed<[Value]>
    private let token: ObservationToken

    init(_ property: ReadOnly<Value>) {
        let recorded = Observed<[Value]>([])
        self.recorded = recorded
        token = property.observe { change in recorded.modify { $0.append(change.new) } }
    }

    var values: [Value] { recorded.value }
}

/// Counts for tests, by name.
final class TestMetrics: MetricsFactory {
    private final class Count: CounterHandler, MeterHandler, Sendable {
        let value = Mutex(0.0)
        func increment(by amount: Int64) { value.withLock { $0 += Double(amount) } }
        func reset() { value.withLock { $0 = 0 } }
        func set(_ value: Int64) { set(Double(value)) }
        func set(_ value: Double) { self.value.withLock { $0 = value } }
        func increment(by amount: Double) { value.withLock { $0 += amount } }
        func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    }

    private let counts = Mutex<[String: Count]>([:])

    subscript(engine engine: String = "etcd", name: String) -> Int {
        counts.withLock { Int($0["\(engine)_mirror_\(name)"]?.value.withLock { $0 } ?? -1) }
    }

    private func count(_ label: String) -> Count {
        counts.withLock { counts in
            let count = counts[label] ?? Count()
            counts[label] = count
            return count
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { count(label) }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { count(label) }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

extension EtcdMirror where Value == String {
    static func test(
        _ prefix: MirrorKey,
        _ urls: [String],
        metrics: TestMetrics = TestMetrics(),
        clock: some Clock<Duration> = ContinuousClock(),
        configure: (inout EtcdConfiguration) -> Void = { _ in }
    ) -> EtcdMirror<String> {
        var configuration = EtcdConfiguration.test(urls)
        configure(&configuration)
        var logger = Logger(label: "mirror")
        logger.logLevel = ProcessInfo.processInfo.environment["ETCD_TEST_LOG"] == nil ? .critical : .trace
        return EtcdMirror(
            .prefix(prefix),
            at: configuration,
            coding: .text,
            logger: logger,
            factory: metrics,
            clock: clock
        )
    }

    /// Returns how long it takes until the mirror has what a range read of its keys has.
    func timeUntilEqual(_ prefix: String, _ client: TestClient) async throws -> Duration {
        let begin = ContinuousClock.now
        try await eventually("the mirror equals a range read") {
            try await client.list(prefix).values == contents.value.shown
        }
        let time = begin.duration(to: .now)
        // The position follows the contents' observers: what records the contents has these.
        try await waitUntil(contents.value.revision, within: .seconds(5))
        return time
    }
}
#endif
