// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import Foundation
import GRPCCore
import Testing

@Suite("Servers that are not there, not etcd, or not honest", .timeLimit(.minutes(1)))
struct BadInputTests {
    /// Runs a mirror that cannot become ready, and checks that it pauses after each attempt.
    ///
    /// - Returns: The mirror.
    @discardableResult
    private func attempts(
        at url: String,
        expecting code: MirrorError.Code,
        named name: String,
        configure: (inout EtcdConfiguration) -> Void = { _ in }
    ) async throws -> EtcdMirror<String> {
        let (clock, metrics) = (ManualClock(), TestMetrics())
        let mirror = EtcdMirror<String>.test("/t/", [url], metrics: metrics, clock: clock, configure: configure)
        try await withMirror(mirror, ready: false) { mirror in
            for attempt in 1...5 {
                try await eventually("attempt \(attempt) has failed") {
                    mirror.isPaused(clock, metrics, after: attempt)
                }
                #expect(mirror.state.value.error?.code == code && mirror.state.value.name == name)
                clock.advance(by: mirror.configuration.backoff.afterFailure)
            }
        }
        return mirror
    }

    @Test("An endpoint where nothing listens")
    func unreachable() async throws {
        let url = "http://127.0.0.1:\(EtcdCluster.freePorts(1)[0])"
        try await attempts(at: url, expecting: .unreachable, named: "connecting")
    }

    @Test("A server that accepts connections, and says nothing")
    func silent() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try proxy.command("hang")
        try await attempts(at: proxy.url, expecting: .unreachable, named: "connecting") {
            $0.requestTimeout = .milliseconds(300)
        }
    }

    @Test("No endpoint, or none that is a URL: run() throws", arguments: [[], ["localhost:2379"]])
    func configuration(_ urls: [String]) async throws {
        let mirror = EtcdMirror<String>.test("/t/", urls)
        let error = await #expect(throws: MirrorError.self) { try await mirror.run() }
        #expect(error?.code == .invalidConfiguration)
        #expect(mirror.state.value.name == "failed")
    }

    @Test("A page of no keys: run() throws", arguments: [0, -1, .min])
    func noPage(_ size: Int) async throws {
        let mirror = EtcdMirror<String>.test("/t/", ["http://127.0.0.1:1"]) { $0.pageSize = size }
        let error = await #expect(throws: MirrorError.self) { try await mirror.run() }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test("One endpoint that works is enough, among several")
    func oneOfThree() async throws {
        let etcd = try await EtcdCluster()
        let dead = EtcdCluster.freePorts(2).map { "http://127.0.0.1:\($0)" }
        let begin = ContinuousClock.now
        try await withMirror(.test("/t/", [dead[0], dead[1], etcd.urls[0]])) { _ in
            #expect(begin.duration(to: .now) < .seconds(3))
        }
    }

    @Test("More keys than allowed: failed before they are read, and while they are watched; the last contents stay")
    func tooManyKeys() async throws {
        let etcd = try await EtcdCluster()
        try await TestClient.with(etcd.urls[0]) { client in
            for index in 0..<25 { try await client.put("/t/\(index)", "1") }
            // Pages of 10.
            let mirror = EtcdMirror<String>.test("/t/", etcd.urls) {
                $0.pageSize = 10
                $0.maximumKeys = 25
            }
            try await withMirror(mirror) { mirror in
                #expect(mirror.contents.value.entries.count == 25)
                try await client.put("/t/more", "1")
                try await eventually("failed") { mirror.state.value.error?.code == .tooManyKeys }
                #expect(mirror.contents.value.entries.count >= 25)
                try await client.delete("/t/more")
                try await mirror.waitUntilReady(within: .seconds(5))
                #expect(mirror.contents.value.entries.count == 25)
            }
            let small = try await attempts(at: etcd.urls[0], expecting: .tooManyKeys, named: "failed") {
                $0.maximumKeys = 24
            }
            #expect(small.contents.value.entries.isEmpty)
        }
    }

    @Test("A server that is slower than the limit")
    func slow() async throws {
        let script = ScriptedServer(rangeDelay: .seconds(10)) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            try await attempts(at: url, expecting: .unreachable, named: "connecting") {
                $0.requestTimeout = .milliseconds(300)
            }
        }
    }

    @Test(
        "A list of a revision that cannot be, or of keys that are newer than it: an error, no trap, and no contents",
        arguments: [(0, 5), (-9, -3), (.max, 5), (10, 11), (10, 0)] as [(Int64, Int64)]
    )
    func impossibleRevisions(list: Int64, key: Int64) async throws {
        let script = ScriptedServer(listRevision: { list }, keyRevision: key) { _ in
            try await Task.sleep(for: .seconds(60))
        }
        try await script.run { url in
            try await withMirror(.test("/t/", [url]), ready: false) { mirror in
                try await eventually("an error", within: .seconds(5)) {
                    mirror.state.value.error?.code == .protocolViolation
                }
                #expect(mirror.contents.value.entries.isEmpty)
            }
        }
    }

    @Test("An empty page that says there is another")
    func endlessList() async throws {
        let script = ScriptedServer(keys: [], repeatsPages: true) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            try await withMirror(.test("/t/", [url]), ready: false) { mirror in
                try await eventually("an error", within: .seconds(5)) {
                    mirror.state.value.error?.code == .protocolViolation
                }
            }
        }
    }

    @Test("A server that lists the same page again and again")
    func samePage() async throws {
        let script = ScriptedServer(repeatsPages: true) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            let mirror = try await attempts(at: url, expecting: .protocolViolation, named: "connecting")
            #expect(mirror.contents.value.entries.isEmpty)
        }
    }

    @Test("A server that sends one key a page, whatever it is asked for: all are read", arguments: [1, .max])
    func shortPages(_ size: Int) async throws {
        let keys = (100..<200).map { "/t/\($0)" }
        let script = ScriptedServer(keys: keys, mostKeys: 1) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            let mirror = EtcdMirror<String>.test("/t/", [url]) { $0.pageSize = size }
            try await withMirror(mirror) { mirror in
                #expect(mirror.contents.value.entries.mapValues(\.value).keys.sorted() == keys.map { MirrorKey($0) })
            }
        }
    }

    @Test("A server that has compacted whatever it is asked for")
    func compactsEverything() async throws {
        let error = RPCError(code: .outOfRange, message: "etcdserver: mvcc: required revision has been compacted")
        let script = ScriptedServer(rangeError: error) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            try await attempts(at: url, expecting: .revisionGone, named: "connecting")
        }
    }

    @Test("A server that claims a million keys")
    func claims() async throws {
        let script = ScriptedServer(count: 1_000_000) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            try await attempts(at: url, expecting: .tooManyKeys, named: "failed")
        }
    }

    @Test("A server that lists keys of another range")
    func otherKeys() async throws {
        let script = ScriptedServer(keys: ["/x"]) { _ in try await Task.sleep(for: .seconds(60)) }
        try await script.run { url in
            let mirror = try await attempts(at: url, expecting: .protocolViolation, named: "connecting")
            #expect(mirror.contents.value.entries.isEmpty)
        }
    }

    @Test(
        "A watch of nonsense, and one that ends at once: stale or not, never a busy loop, and the list's contents stay",
        arguments: 0..<6
    )
    func nonsense(_ kind: Int) async throws {
        let script = ScriptedServer { writer in
            switch kind {
            case 0: try await writer.write(ScriptedServer.message([ScriptedServer.event("/x", 11)]))
            case 1: try await writer.write(ScriptedServer.message([ScriptedServer.event("/t/a", 10)]))
            case 2: try await writer.write(ScriptedServer.message([ScriptedServer.event("/t/a", 11)], watch: 7))
            case 3:
                let events = [12, 11].map { ScriptedServer.event("/t/a", $0) }
                try await writer.write(ScriptedServer.message(events))
            case 4:
                var end = ScriptedServer.message([])
                (end.canceled, end.compactRevision) = (true, 500)
                try await writer.write(end)
            default: return
            }
            try await Task.sleep(for: .seconds(60))
        }
        try await script.run { url in
            let code: MirrorError.Code =
                switch kind {
                case 4: .revisionGone
                case 5: .unreachable
                default: .protocolViolation
                }
            let (clock, metrics) = (ManualClock(), TestMetrics())
            let mirror = EtcdMirror<String>.test("/t/", [url], metrics: metrics, clock: clock)
            try await withMirror(mirror, ready: false) { mirror in
                for session in 1...5 {
                    try await eventually("session \(session) has ended") {
                        mirror.isPaused(clock, metrics, after: session)
                    }
                    #expect(mirror.state.value.error?.code == code)
                    #expect(mirror.contents.value.shown == ["/t/a": Shown(value: "x", revision: 5)])
                    clock.advance(by: mirror.configuration.backoff.longest)
                }
            }
        }
    }

    @Test("A mirror that is cancelled ends, at whatever moment of its sessions that is")
    func cancelled() async throws {
        // Each session ends soon after its watch has begun.
        let script = ScriptedServer { _ in }
        try await script.run { url in
            for _ in 0..<100 {
                let ended = Observed(0)
                for _ in 0..<8 {
                    let mirror = EtcdMirror<String>.test("/t/", [url]) { $0.backoff.longest = .milliseconds(20) }
                    Task {
                        let task = Task { try await mirror.run() }
                        try await Task.sleep(for: .microseconds(Int.random(in: 0..<60_000)))
                        task.cancel()
                        _ = await task.result
                        ended.modify { $0 += 1 }
                    }
                }
                try await eventually("all have ended") { ended.value == 8 }
            }
        }
    }

    @Test("A server that has lost events, as old ones do at a compaction: a comparison finds it")
    func lostEvents() async throws {
        let script = ScriptedServer(keys: ["/t/a", "/t/b"], laterKeys: ["/t/a", "/t/c"]) { _ in
            try await Task.sleep(for: .seconds(60))
        }
        try await script.run { url in
            let metrics = TestMetrics()
            let mirror = EtcdMirror<String>.test("/t/", [url], metrics: metrics) {
                $0.comparisonInterval = .milliseconds(200)
            }
            let b = mirror.property("/t/b")
            try await withMirror(mirror) { mirror in
                try await eventually("the difference is found") { mirror.contents.value["/t/c"] == "x" }
                try await eventually("the key's property follows") { b.value == nil }
                #expect(mirror.contents.value.entries.count == 2)
                #expect(mirror.contents.value.isFromList)
                #expect(metrics["divergences_total"] == 1)
                #expect(metrics["ended_sessions_total"] <= 0)
            }
        }
    }

    @Test(
        "Endless fragments end the session before they fill memory, also where the events are empty",
        arguments: [false, true]
    )
    func endlessFragments(areEmpty: Bool) async throws {
        let script = ScriptedServer { writer in
            let event = areEmpty ? Etcdserverpb_Event() : ScriptedServer.event("/t/a", 11)
            var part = ScriptedServer.message([Etcdserverpb_Event](repeating: event, count: 1_000))
            part.fragment = true
            while true { try await writer.write(part) }
        }
        try await script.run { url in
            let mirror = EtcdMirror<String>.test("/t/", [url]) { $0.maximumMessageBytes = 1 << 20 }
            let before = memoryOfProcess(getpid())
            try await withMirror(mirror, ready: false) { mirror in
                try await eventually("an error") { mirror.state.value.error?.code == .tooLarge }
                #expect(mirror.state.value.name == "failed")
            }
            #expect(memoryOfProcess(getpid()) - before < 64 << 20)
        }
    }
}
#endif
