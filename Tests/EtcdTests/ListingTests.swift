// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import Foundation
import Testing

/// Engines that keep no history, by the public protocol only.
@Suite("Mirrors of engines without history", .timeLimit(.minutes(1)))
struct ListingTests {
    private let clock = ManualClock()

    private var configuration: MirrorConfiguration {
        var configuration = MirrorConfiguration()
        configuration.probeInterval = .milliseconds(20)
        configuration.listGap = .milliseconds(10)
        configuration.backoff.first = .milliseconds(5)
        configuration.backoff.longest = .milliseconds(20)
        return configuration
    }

    private func mirror(
        _ engine: ListingEngine,
        _ metrics: TestMetrics = TestMetrics(),
        configure: (inout MirrorConfiguration) -> Void = { _ in }
    ) -> EngineMirror<ListingEngine, String> {
        var configuration = configuration
        configure(&configuration)
        return EngineMirror(
            following: engine,
            configuration: configuration,
            coding: .text,
            factory: metrics,
            clock: clock
        )
    }

    /// Records the state and the revisions while keys change, and checks both.
    private func check<Engine: MirrorEngine>(
        _ mirror: EngineMirror<Engine, String>,
        changes: Int = 60,
        every pause: Duration = .milliseconds(50),
        change: (Int) throws -> Void
    ) async throws {
        let (states, seen) = (Recording(mirror.state), Recording(mirror.contents))
        for index in 1...changes {
            try change(index)
            // The next probe, the next comparison, and the look at the age.
            try await clock.whenSleeping(3)
            clock.advance(by: pause)
        }
        try await eventually("the last value", advancing: clock, by: pause) {
            mirror.contents.value["a"] == "\(changes)"
        }
        #expect(states.values.isEmpty, "the mirror was \(states.values.map(\.name))")
        let revisions = seen.values.map(\.revision)
        #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 })
        #expect(seen.values.allSatisfy { $0["a"] == $0["b"] })
    }

    @Test("Keys that change every 50 ms: the mirror is ready all the time, and the last value arrives")
    func changesOften() async throws {
        let engine = ListingEngine(clock: clock)
        let metrics = TestMetrics()
        try await withMirror(mirror(engine, metrics)) { mirror in
            try await check(mirror) { index in engine.set(["a": "\(index)", "b": "\(index)"]) }
            #expect(metrics[engine: "listing", "ended_sessions_total"] <= 0)
            #expect(metrics[engine: "listing", "relists_total"] <= 0)
            #expect(metrics[engine: "listing", "divergences_total"] <= 0)
            #expect(engine.asked == 0)
        }
    }

    @Test(
        "The article's engine: a file that is replaced every 50 ms, or every 2 s",
        arguments: [Duration.milliseconds(50), .seconds(2)]
    )
    func file(every pause: Duration) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("flags-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func replace(_ index: Int) throws {
            try Data("\(index + 1)\na \(index)\nb \(index)\n".utf8)
                .write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        try replace(0)
        let engine = FileEngine(path: path, clock: clock)
        let mirror = EngineMirror<FileEngine, String>(following: engine, coding: .text, clock: clock)
        try await withMirror(mirror) { try await check($0, every: pause, change: replace) }
    }

    @Test("Between two lists there is the gap of the configuration, however often the keys change")
    func gap() async throws {
        let engine = ListingEngine(clock: clock)
        try await withMirror(mirror(engine) { $0.listGap = .milliseconds(300) }) { mirror in
            try await check(mirror, changes: 30) { index in engine.set(["a": "\(index)", "b": "\(index)"]) }
            let lists = engine.lists
            #expect(lists.count >= 3)
            for (last, next) in zip(lists, lists.dropFirst()) {
                #expect(last.end.duration(to: next.begin) >= .milliseconds(300))
            }
        }
    }

    @Test("A list confirms the contents, long before the next probe does")
    func confirms() async throws {
        let engine = ListingEngine(clock: clock)
        try await withMirror(mirror(engine) { $0.probeInterval = .seconds(60) }) { mirror in
            clock.advance(by: .seconds(1))
            #expect(mirror.lag.value.age == .seconds(1))
            engine.set(["a": "1"])
            try await eventually("shown") { mirror.contents.value["a"] == "1" }
            try await eventually("confirmed") { mirror.lag.value.age == .zero }
        }
    }

    @Test("Keys that change while they are listed: the mirror lists once more, and stays ready")
    func disturbed() async throws {
        let engine = ListingEngine(clock: clock)
        let metrics = TestMetrics()
        try await withMirror(mirror(engine, metrics)) { mirror in
            let states = Recording(mirror.state)
            engine.disturb(7)
            engine.set(["a": "1"])
            try await eventually("shown", advancing: clock, by: .milliseconds(10)) {
                mirror.contents.value["a"] == "1"
            }
            #expect(!engine.isDisturbed)
            #expect(states.values.isEmpty && metrics[engine: "listing", "ended_sessions_total"] <= 0)
        }
    }

    @Test("Keys that change while the revision stays: a comparison with the present finds it; the mirror stays ready")
    func comparison() async throws {
        let engine = ListingEngine(clock: clock)
        let metrics = TestMetrics()
        let mirror = mirror(engine, metrics) { $0.comparisonInterval = .milliseconds(200) }
        try await withMirror(mirror) { mirror in
            let states = Recording(mirror.state)
            try await eventually("equal", advancing: clock, by: .milliseconds(10)) {
                metrics[engine: "listing", "comparisons_total"] > 0
            }
            engine.set(["a": "1"], isHidden: true)
            try await eventually("found", advancing: clock, by: .milliseconds(10)) {
                mirror.contents.value["a"] == "1"
            }
            #expect(metrics[engine: "listing", "divergences_total"] == 1)
            #expect(states.values.isEmpty && engine.asked == 0)
        }
    }

    @Test(
        "Other data, of a lower revision or of another history: noted once, whether a list or a probe finds them; ready",
        arguments: [false, true]
    )
    func otherData(byProbe: Bool) async throws {
        let engine = ListingEngine(clock: clock)
        engine.set(["old": "1"])
        engine.set(["old": "2"])
        let metrics = TestMetrics()
        let mirror = mirror(engine, metrics) { $0.probeInterval = byProbe ? .milliseconds(20) : .seconds(60) }
        try await withMirror(mirror) { mirror in
            let states = Recording(mirror.state)
            // The watch waits for revision 4, and does not see 2.
            engine.replaceEverything(revision: byProbe ? 2 : 10, history: byProbe ? 1 : 2, "3")
            try await eventually("listed", advancing: clock, by: .milliseconds(10)) {
                mirror.contents.value["new"] == "3"
            }
            #expect(mirror.contents.value["old"] == nil)
            try await eventually("noted") { metrics[engine: "listing", "divergences_total"] == 1 }
            #expect(states.values.isEmpty)
        }
        #expect(metrics[engine: "listing", "divergences_total"] == 1)
    }
}
#endif
