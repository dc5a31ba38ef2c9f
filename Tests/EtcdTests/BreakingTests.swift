// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Connections and servers that break", .timeLimit(.minutes(2)))
struct BreakingTests {
    @Test("A connection that breaks again and again: the watch resumes, without a gap, and nothing comes twice")
    func resumes() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let history = try History(etcd.urls, prefix: "/t/")
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url])
        let recorder = Recorder(mirror)
        try await withMirror(mirror) { mirror in
            async let writing: Void = write(800, "/t/", etcd.urls[0], tasks: 1)
            for _ in 0..<5 {
                try proxy.command("drop")
                try await eventually("stale") { mirror.state.value.name == "stale" }
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(10))
                try await Task.sleep(for: .milliseconds(50))
            }
            try await writing
            try await TestClient.with(etcd.urls[0]) { client in
                let last = try await client.put("/t/end", "end")
                #expect(try await mirror.timeUntilEqual("/t/", client) < .seconds(1))
                recorder.check(try await history.changes(until: last))
            }
        }
    }

    @Test("Changes missed while disconnected come in fragments, each revision whole")
    func fragments() async throws {
        let etcd = try await EtcdCluster(arguments: ["--max-request-bytes", "65536"])
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let history = try History(etcd.urls, prefix: "/t/")
        let metrics = TestMetrics()
        // Less than all that is missed, and more than a part: etcd's limit, and 512 KiB.
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url], metrics: metrics) { $0.maximumMessageBytes = 1 << 20 }
        let recorder = Recorder(mirror)
        try await withMirror(mirror) { mirror in
            try proxy.command("drop")
            try await write(800, "/t/", etcd.urls[0], size: 2_000)
            try proxy.command("allow")
            try await TestClient.with(etcd.urls[0]) { client in
                let last = try await client.put("/t/end", "end")
                _ = try await mirror.timeUntilEqual("/t/", client)
                #expect(metrics["fragments_total"] > 0)
                recorder.check(try await history.changes(until: last))
            }
        }
    }

    @Test("A compaction while disconnected: the mirror lists again, and equals a range read")
    func compaction() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let history = try History(etcd.urls, prefix: "/t/")
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url], metrics: metrics)
        let recorder = Recorder(mirror)
        try await withMirror(mirror) { mirror in
            try await TestClient.with(etcd.urls[0]) { client in
                try await write(100, "/t/", etcd.urls[0])
                try await mirror.waitUntil(try await client.list("/t/").revision, within: .seconds(10), orEqual: client)
                try proxy.command("drop")
                try await write(100, "/t/", etcd.urls[0])
                let last = try await client.put("/t/end", "end")
                let changes = try await history.changes(until: last)
                try await client.compact(last)
                try await eventually("stale") { mirror.state.value.name == "stale" }
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(try await mirror.timeUntilEqual("/t/", client) < .seconds(1))
                #expect(metrics["relists_total"] == 1)
                recorder.check(changes, mayList: true)
            }
        }
    }

    @Test(
        "A server that stops answering: stale within the time of a probe, since the last confirmation; then ready within a second"
    )
    func stops() async throws {
        let etcd = try await EtcdCluster()
        let mirror = EtcdMirror<String>.test("/t/", etcd.urls)
        try await withMirror(mirror) { mirror in
            try await mirror.set("1", for: "/t/a")
            etcd.send(SIGSTOP)
            let stopped = ContinuousClock.now
            try await eventually("stale", within: .seconds(4)) { mirror.state.value.name == "stale" }
            guard case .stale(let since, let error) = mirror.state.value else { throw TestFailure("not stale") }
            #expect(since < stopped + .milliseconds(50))
            #expect(error.code == .unreachable)
            #expect(mirror.contents.value["/t/a"] == "1")
            try await Task.sleep(for: .milliseconds(500))
            etcd.send(SIGCONT)
            let begin = ContinuousClock.now
            try await mirror.waitUntilReady(within: .seconds(10))
            #expect(begin.duration(to: .now) < .seconds(3))
        }
    }

    @Test("A connection that hangs while etcd goes on: the mirror finds out, and resumes")
    func hangs() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let history = try History(etcd.urls, prefix: "/t/")
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url])
        let recorder = Recorder(mirror)
        try await withMirror(mirror) { mirror in
            try proxy.command("hang")
            try await write(200, "/t/", etcd.urls[0])
            try await eventually("stale", within: .seconds(4)) { mirror.state.value.name == "stale" }
            try proxy.command("drop")
            try proxy.command("allow")
            try await TestClient.with(etcd.urls[0]) { client in
                let last = try await client.put("/t/end", "end")
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(try await mirror.timeUntilEqual("/t/", client) < .seconds(1))
                recorder.check(try await history.changes(until: last))
            }
        }
    }

    @Test("A restart is an interruption like others")
    func restart() async throws {
        let etcd = try await EtcdCluster()
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/t/", etcd.urls, metrics: metrics)
        try await withMirror(mirror) { mirror in
            try await mirror.set("1", for: "/t/a")
            etcd.kill()
            try await eventually("stale") { mirror.state.value.name == "stale" }
            try etcd.start(0)
            try await etcd.waitUntilHealthy()
            try await mirror.waitUntilReady(within: .seconds(10))
            try await mirror.set("2", for: "/t/a")
            #expect(metrics["relists_total"] == 0)
        }
    }

    @Test(
        "Lost data: the mirror shows what etcd has now, also where the revisions have grown past the mirror's",
        arguments: [1, 50]
    )
    func lostData(changes: Int) async throws {
        let etcd = try await EtcdCluster()
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/t/", etcd.urls, metrics: metrics)
        try await withMirror(mirror) { mirror in
            for index in 0..<20 { try await mirror.set("\(index)", for: MirrorKey("/t/k\(index % 5)")) }
            etcd.kill()
            try etcd.wipe()
            try await eventually("stale") { mirror.state.value.name == "stale" }
            #expect(mirror.contents.value.entries.count == 5)
            try etcd.start(0)
            try await etcd.waitUntilHealthy()
            try await TestClient.with(etcd.urls[0]) { client in
                for index in 0..<changes { try await client.put("/t/new\(index % 3)", "\(index)") }
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(try await mirror.timeUntilEqual("/t/", client) < .seconds(1))
                #expect(metrics["divergences_total"] >= 1)
                try await mirror.set("x", for: "/t/new0")
            }
        }
    }

    @Test("A quiet range: compaction of what others write costs the mirror nothing that its observers see")
    func quiet() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url])
        let recorder = Recorder(mirror)
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/a", "1")
            try await withMirror(mirror) { mirror in
                var last: Int64 = 0
                for index in 0..<20 { last = try await client.put("/other", "\(index)") }
                try await client.compact(last)
                try proxy.command("drop")
                try await eventually("stale") { mirror.state.value.name == "stale" }
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(mirror.position.value >= last)
                #expect(recorder.recorded.count == 1)
                try await mirror.set("2", for: "/t/a")
                #expect(recorder.recorded.count == 2)
            }
        }
    }
}

extension EtcdMirror where Value == String {
    /// Waits until the mirror is complete up to a revision, or has what etcd has: other keys may
    /// have had the last revisions.
    func waitUntil(_ revision: Int64, within limit: Duration, orEqual client: TestClient) async throws {
        try await eventually("revision \(revision)", within: limit) {
            if position.value >= revision { return true }
            return try await client.list("/t/").values == contents.value.shown
        }
    }
}
#endif
