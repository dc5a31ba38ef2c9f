// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import Foundation
import Testing

/// Requests are answered, and the watch says nothing, or not all.
@Suite("Watches that stall, or lose changes", .timeLimit(.minutes(2)))
struct StalenessTests {
    /// How many tasks of a mirror sleep while it asks nothing. Between sessions: the pause, and the
    /// look at the age. In a session: that look, and the next probe, comparison and request for
    /// progress.
    private let idle: Set = [2, 4]

    private func mirror(
        _ url: String,
        _ metrics: TestMetrics = TestMetrics(),
        clock: some Clock<Duration> = ContinuousClock(),
        configure: (inout EtcdConfiguration) -> Void = { _ in }
    ) -> EtcdMirror<String> {
        .test("/t/", [url], metrics: metrics, clock: clock) {
            $0.maximumLag = .seconds(1)
            configure(&$0)
        }
    }

    @Test(
        "The watch stalls while requests succeed: the mirror says how far behind it is, is not ready, lists, and heals"
    )
    func stalls() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let metrics = TestMetrics()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/n", "0")
            try await withMirror(mirror(proxy.url, metrics)) { mirror in
                let longest = mirror.configuration.longestAge
                #expect(mirror.lag.value.revisions == 0)
                let states = Recording(mirror.state)
                try proxy.command("swallow")
                for index in 1...20 { try await client.put("/t/n", "\(index)") }
                let written = ContinuousClock.now
                try await eventually("it knows", within: .seconds(2)) { mirror.lag.value.revisions == 20 }
                #expect(metrics["behind_revisions"] == 20)
                try await eventually("stale, or healed", within: longest) { !mirror.state.value.isReady }
                #expect(mirror.state.value.error?.code == .behind)
                // The list of the next session brings what the watch does not.
                try await eventually("listed") { mirror.contents.value["/t/n"] == "20" }
                print("stalled: listed \(written.duration(to: .now)) after the last change")
                #expect(metrics["relists_total"] >= 1)
                // The next watch is swallowed, too: lists go on, and no state says more than is
                // known.
                try await client.put("/t/n", "21")
                try await eventually("listed again") { mirror.contents.value["/t/n"] == "21" }
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(states.values.contains { $0.name == "stale" })
                try await mirror.set("22", for: "/t/n")
                try await eventually("no longer behind") { mirror.lag.value.revisions == 0 }
                #expect(mirror.lag.value.age! < longest)
            }
        }
    }

    @Test("A change that meets a stalled watch: `update` asks etcd once, and `set` says that it is not shown")
    func updates() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/n", "0")
            let metrics = TestMetrics()
            let slow = mirror(proxy.url, metrics) { $0.maximumLag = .seconds(60) }
            try await withMirror(slow) { mirror in
                try proxy.command("swallow")
                try await client.put("/t/n", "5")
                let calls = Observed(0)
                let begin = ContinuousClock.now
                let error = await #expect(throws: MirrorError.self) {
                    try await mirror.update("/t/n") { value in
                        calls.modify { $0 += 1 }
                        return "\(Int(value!)! + 1)"
                    }
                }
                #expect(error?.code == .behind)
                #expect(calls.value == 1 && metrics["conflicts_total"] == 1)
                #expect(begin.duration(to: .now) < .seconds(5))
                let written = await #expect(throws: MirrorError.self) { try await mirror.set("x", for: "/t/m") }
                #expect(written?.code == .notShown)
                #expect(try await client.list("/t/").values["/t/m"]?.value == "x")
                #expect(try await client.list("/t/").values["/t/n"]?.value == "5")
            }
        }
    }

    @Test("A wait for the present ends with what etcd had, although others write, and asks at once")
    func present() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try await TestClient.with(etcd.urls[0]) { client in
            // Nothing but the waits asks.
            let mirror = mirror(proxy.url) {
                $0.probeInterval = .seconds(60)
                $0.maximumLag = .seconds(60)
                $0.requestTimeout = .seconds(2)
            }
            try await withMirror(mirror) { mirror in
                // So the present reaches the test before it reaches the mirror.
                try proxy.command("delay 20")
                for index in 1...20 {
                    try await client.put("/t/n", "\(index)")
                    if index % 2 == 0 { try await client.put("/other", "x") }
                    try await mirror.waitUntilCurrent(within: .seconds(10))
                    #expect(mirror.contents.value["/t/n"] == "\(index)")
                }
                try await client.delete("/t/n")
                try await client.put("/other", "y")
                try await mirror.waitUntilCurrent(within: .seconds(10))
                #expect(mirror.contents.value["/t/n"] == nil)
                // Many who wait at once share requests.
                let asked = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<1_000 { group.addTask { try await mirror.waitUntilCurrent(within: .seconds(10)) } }
                    try await group.waitForAll()
                }
                print("present: 1000 who waited at once were answered after \(asked.duration(to: .now))")
            }
        }
    }

    @Test(
        "A wait for the present does not end while the watch keeps changes back, and says why",
        arguments: ["swallow", "hang"]
    )
    func absent(fault: String) async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try await TestClient.with(etcd.urls[0]) { client in
            let mirror = mirror(proxy.url) { $0.maximumLag = .seconds(60) }
            try await withMirror(mirror) { mirror in
                try proxy.command(fault)
                try await client.put("/t/n", "1")
                let error = await #expect(throws: MirrorError.self) {
                    try await mirror.waitUntilCurrent(within: .milliseconds(700))
                }
                #expect(error?.code == .behind || error?.code == .unreachable)
                #expect(mirror.contents.value["/t/n"] == nil)
                try proxy.command("drop")
                try proxy.command("allow")
                try await mirror.waitUntilCurrent(within: .seconds(15))
                #expect(mirror.contents.value["/t/n"] == "1")
            }
        }
    }

    @Test(
        "The watch loses the last change of a range that then goes quiet, while others write or not: found in time",
        arguments: [false, true],
        [false, true]
    )
    func loses(isDeletion: Bool, isBusy: Bool) async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let (clock, metrics) = (ManualClock(), TestMetrics())
        try await TestClient.with(etcd.urls[0]) { client in
            for key in ["a", "b", "c"] { try await client.put("/t/\(key)", "1") }
            let mirror = mirror(proxy.url, metrics, clock: clock) {
                // Where progress moves the position past the loss, only a comparison finds it.
                $0.comparisonInterval = .seconds(2)
                $0.probeTimeout = .seconds(60)
                $0.requestTimeout = .seconds(10)
            }
            try await withMirror(mirror) { mirror in
                try await client.put("/t/c", "2")
                try await eventually("the watch works") { mirror.contents.value["/t/c"] == "2" }
                try proxy.command("swallow")
                if isDeletion { try await client.delete("/t/b") } else { try await client.put("/t/b", "2") }
                // The next message passes: what was on the way is gone.
                try await Task.sleep(for: .milliseconds(300))
                try proxy.command("allow")
                let lost = clock.now
                let isWriting = Observed(true)
                async let others: Void = {
                    while isBusy && isWriting.value {
                        try await client.put("/other", "x")
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }()
                try await eventually("found", advancing: clock, by: .milliseconds(50), whileSleeping: idle) {
                    mirror.contents.value["/t/b"] == (isDeletion ? nil : "2")
                }
                #expect(lost.duration(to: clock.now) <= .seconds(4))
                isWriting.value = false
                try await others
                try await eventually("ready", advancing: clock, by: .milliseconds(50), whileSleeping: idle) {
                    mirror.state.value.isReady
                }
                #expect(metrics["relists_total"] == 1)
            }
        }
    }

    @Test("Comparisons find what a quiet range has lost within two intervals, whatever the limit of the lag")
    func comparisons() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let (clock, metrics) = (ManualClock(), TestMetrics())
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/b", "1")
            let mirror = mirror(proxy.url, metrics, clock: clock) {
                $0.maximumLag = .seconds(60)
                $0.comparisonInterval = .seconds(2)
                $0.probeTimeout = .seconds(60)
            }
            try await withMirror(mirror) { mirror in
                try proxy.command("swallow")
                try await client.put("/t/b", "2")
                try await Task.sleep(for: .milliseconds(300))
                try proxy.command("allow")
                let lost = clock.now
                try await eventually("found", advancing: clock, by: .milliseconds(50), whileSleeping: idle) {
                    mirror.contents.value["/t/b"] == "2"
                }
                #expect(lost.duration(to: clock.now) <= .seconds(4))
                #expect(metrics["divergences_total"] == 1)
                #expect(metrics["ended_sessions_total"] <= 0)
            }
        }
    }

    @Test("A quiet range while others write: ready all the time, no list, and not behind")
    func quiet() async throws {
        let etcd = try await EtcdCluster()
        let metrics = TestMetrics()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/a", "1")
            let mirror = mirror(etcd.urls[0], metrics) {
                $0.maximumLag = .milliseconds(300)
                $0.requestTimeout = .seconds(5)
            }
            try await withMirror(mirror) { mirror in
                let states = Recording(mirror.state)
                let end = ContinuousClock.now + .milliseconds(1_500)
                var oldest = Duration.zero
                while .now < end {
                    try await client.put("/other", "x")
                    oldest = max(oldest, mirror.lag.value.age!)
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(states.values.isEmpty)
                #expect(oldest < mirror.configuration.longestAge)
                #expect(metrics["lists_total"] == 1 && metrics["divergences_total"] <= 0)
                try await eventually("not behind") { mirror.lag.value.revisions == 0 }
            }
        }
    }

    @Test(
        "A probe that finds other data than the mirror's: it lists, whether the revision is lower or the history is another",
        arguments: [1, 2]
    )
    func otherData(history: UInt64) async throws {
        let engine = ForgetfulEngine()
        var configuration = MirrorConfiguration()
        configuration.probeInterval = .milliseconds(50)
        let mirror = EngineMirror<ForgetfulEngine, String>(
            following: engine,
            configuration: configuration,
            coding: .text
        )
        try await withMirror(mirror) { mirror in
            #expect(mirror.contents.value["old"] == "1")
            // A lower revision of the same history, or a higher one of another.
            engine.moment.value = MirrorMoment(revision: history == 1 ? 5 : 15, history: history)
            try await eventually("listed", within: .seconds(5)) { mirror.contents.value["new"] == "1" }
            #expect(mirror.contents.value["old"] == nil)
            #expect(mirror.position.value == engine.moment.value.revision)
        }
    }
}

/// An engine that loses its data, which no watch notices.
private struct ForgetfulEngine: MirrorEngine {
    static let name = "forgetful"
    let moment = Observed(MirrorMoment(revision: 10, history: 1))

    func servers() -> [String] { ["here"] }

    func withSession(at server: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        try await body(Session(moment: moment))
    }

    struct Session: MirrorSession {
        let moment: Observed<MirrorMoment>

        func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment {
            let moment = moment.value
            try page([MirrorItem(key: moment.revision == 10 ? "old" : "new", value: [0x31], revision: 3)])
            return moment
        }

        func watch(from revision: Int64, receive: @escaping @Sendable (MirrorMessage) async throws -> Void) async throws
        {
            try await receive(.started)
            try await Task.sleep(for: .seconds(60))
        }

        func probe() -> MirrorMoment { moment.value }
    }
}
#endif
