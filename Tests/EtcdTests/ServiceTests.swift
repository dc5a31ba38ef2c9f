// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Logging
import ServiceLifecycle
import Testing

/// Lines of a log, with their levels.
private struct Lines: LogHandler {
    let lines: Observed<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ lines: Observed<[String]>) { self.lines = lines }

    func log(event: LogEvent) { lines.modify { $0.append("\(event.level): \(event.message)") } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}

@Suite("A mirror among services", .timeLimit(.minutes(1)))
struct ServiceTests {
    @Test(
        "A service group runs a mirror and shuts it down; the log has each change of the state once; the metrics agree"
    )
    func group() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let lines = Observed<[String]>([])
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>(
            .prefix("/f/"),
            at: .test([proxy.url]),
            coding: .text,
            logger: Logger(label: "mirror") { _ in Lines(lines) },
            factory: metrics
        )
        let group = ServiceGroup(services: [mirror], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
        async let running: Void = group.run()
        try await mirror.waitUntilReady(within: .seconds(5))
        try await mirror.set("1", for: "/f/a")
        _ = try await TestClient.with(etcd.urls[0]) { try await $0.put("/f/b", Data([0xFF])) }
        try await eventually("malformed") { mirror.contents.value.errors.count == 1 }
        // They follow the contents, this one last.
        try await eventually("the metrics follow") { metrics["malformed_keys"] == 1 }
        #expect(metrics["ready"] == 1)
        #expect(metrics["keys"] == 1)
        #expect(metrics["revisions_total"] == 2)
        #expect(metrics["events_total"] == 2)
        #expect(metrics["lists_total"] == 1)
        try await eventually("the position's follows") { metrics["position"] == Int(mirror.position.value) }
        try proxy.command("drop")
        try await eventually("stale") { mirror.state.value.name == "stale" }
        #expect(metrics["ready"] == 0)
        try proxy.command("allow")
        try await mirror.waitUntilReady(within: .seconds(5))
        await group.triggerGracefulShutdown()
        try await running
        #expect(mirror.state.value.error?.code == .stopped)
        #expect(mirror.contents.value["/f/a"] == "1")
        #expect(
            lines.value == [
                "info: the mirror is ready", "error: a value is malformed: its key keeps the last good one",
                "warning: the mirror is stale", "info: the mirror is ready", "warning: the mirror is stale",
            ]
        )
    }

    @Test(
        "Malformed values of a list are logged, ten of them, and the number of the others; not again when the mirror lists again"
    )
    func malformedList() async throws {
        let etcd = try await EtcdCluster()
        let lines = Observed<[String]>([])
        try await TestClient.with(etcd.urls[0]) { client in
            for index in 0..<13 { try await client.put("/f/\(index)", Data([0xFF])) }
            let mirror = EtcdMirror<String>(
                .prefix("/f/"),
                at: .test(etcd.urls),
                coding: .text,
                logger: Logger(label: "mirror") { _ in Lines(lines) },
                factory: TestMetrics()
            )
            let malformed = "error: a value is malformed: its key keeps the last good one"
            let listed = [String](repeating: malformed, count: 10) + ["error: more values are malformed"]
            for _ in 0..<2 {
                try await withMirror(mirror) { mirror in #expect(mirror.contents.value.errors.count == 13) }
            }
            #expect(lines.value.filter { $0.hasPrefix("error: ") } == listed)
        }
    }

    @Test("A quiet watcher's position follows etcd's progress notifications, so that a compaction costs it no list")
    func notifications() async throws {
        let etcd = try await EtcdCluster(
            arguments: ["--experimental-watch-progress-notify-interval", "100ms"]
        )
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let metrics = TestMetrics()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/a", "1")
            try await withMirror(.test("/t/", [proxy.url], metrics: metrics)) { mirror in
                var last: Int64 = 0
                for index in 0..<20 { last = try await client.put("/other", "\(index)") }
                try await eventually("the position follows") { mirror.position.value >= last }
                try await client.compact(last)
                try proxy.command("drop")
                try await eventually("stale") { mirror.state.value.name == "stale" }
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(5))
                #expect(metrics["lists_total"] == 1)
            }
        }
    }

    @Test("A mirror asks for progress at once and with each probe; the answer moves the position")
    func progressRequests() async throws {
        let (requests, newest) = (Observed(0), Observed(Int64(10)))
        // Its probes know of what its watch has reported: otherwise it would have lost data, and be
        // listed.
        let script = ScriptedServer(listRevision: { newest.value }) { writer in
            for revision in 11... {
                try await eventually("a request", within: .seconds(5)) { requests.value >= revision - 10 }
                newest.value = Int64(revision)
                var answer = ScriptedServer.message([], watch: -1)
                answer.header.revision = Int64(revision)
                try await writer.write(answer)
            }
        } onProgressRequest: {
            requests.modify { $0 += 1 }
        }
        try await script.run { url in
            let metrics = TestMetrics()
            try await withMirror(.test("/t/", [url], metrics: metrics)) { mirror in
                try await eventually("the position is 14", within: .seconds(5)) { mirror.position.value >= 14 }
                #expect(metrics["lists_total"] == 1)
                #expect(mirror.contents.value.shown == ["/t/a": Shown(value: "x", revision: 5)])
            }
        }
    }
}
#endif
