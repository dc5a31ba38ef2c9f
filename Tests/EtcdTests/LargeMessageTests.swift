// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Messages that are larger than gRPC's usual limit", .timeLimit(.minutes(2)))
struct LargeMessageTests {
    /// etcd sends no parts of what has less than this.
    private func cluster() async throws -> EtcdCluster {
        try await EtcdCluster(arguments: ["--max-request-bytes", "\(10 << 20)"])
    }

    private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("750 missed changes of 6 KB come as one message: the mirror resumes, each revision is one change")
    func backlog() async throws {
        let etcd = try await cluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let metrics = TestMetrics()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/0", "")
            try await withMirror(.test("/t/", [proxy.url], metrics: metrics)) { mirror in
                let seen = Recording(mirror.position)
                try proxy.command("drop")
                for index in 0..<750 { try await client.put("/t/\(index % 50)", text(6_000)) }
                let last = try await client.put("/t/end", "end")
                try proxy.command("allow")
                try await mirror.waitUntil(last, within: .seconds(10))
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(seen.values.suffix(751) == Array(last - 750...last)[...])
                #expect(metrics["lists_total"] == 1)
            }
        }
    }

    @Test("A message above the mirror's own limit: the mirror lists, and goes on")
    func limit() async throws {
        let etcd = try await cluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let metrics = TestMetrics()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/0", "")
            let mirror = EtcdMirror<String>.test("/t/", [proxy.url], metrics: metrics) {
                $0.maximumMessageBytes = 1 << 20
            }
            try await withMirror(mirror) { mirror in
                let states = Recording(mirror.state)
                try proxy.command("drop")
                for index in 0..<300 { try await client.put("/t/\(index % 50)", text(6_000)) }
                let last = try await client.put("/t/end", "end")
                try proxy.command("allow")
                try await mirror.waitUntil(last, within: .seconds(10))
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(metrics["lists_total"] == 2)
                #expect(!states.values.contains { $0.name == "failed" })
                try await mirror.set("1", for: "/t/0")
            }
        }
    }

    @Test("A value of 5 MiB is shown")
    func value() async throws {
        let etcd = try await cluster()
        try await TestClient.with(etcd.urls[0]) { client in
            let mirror = EtcdMirror<String>.test("/t/", etcd.urls) { $0.requestTimeout = .seconds(10) }
            try await withMirror(mirror) { mirror in
                let revision = try await client.put("/t/large", text(5 << 20))
                try await mirror.waitUntil(revision, within: .seconds(10))
                #expect(mirror.contents.value["/t/large"]?.utf8.count == 5 << 20)
            }
            try await withMirror(mirror) { mirror in #expect(mirror.state.value.isReady) }
        }
    }

    @Test("A value above the mirror's limit: failed with the cause, the last contents stay; replaced, it is shown")
    func tooLarge() async throws {
        let etcd = try await cluster()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/t/a", "1")
            let mirror = EtcdMirror<String>.test("/t/", etcd.urls) { $0.maximumMessageBytes = 1 << 20 }
            try await withMirror(mirror) { mirror in
                try await client.put("/t/large", text(2 << 20))
                try await eventually("failed") { mirror.state.value.error?.code == .tooLarge }
                #expect(mirror.state.value.name == "failed")
                #expect(mirror.state.value.error?.message.contains("1048576 bytes") == true)
                #expect(mirror.contents.value["/t/a"] == "1")
                try await client.put("/t/large", "small")
                try await mirror.waitUntilReady(within: .seconds(10))
                #expect(mirror.contents.value["/t/large"] == "small")
            }
        }
    }

    @Test("A transaction that etcd does not take fails with an error of its own, and writes nothing")
    func transactions() async throws {
        let etcd = try await EtcdCluster()
        try await withMirror(.test("/t/", etcd.urls)) { mirror in
            let values = Dictionary(uniqueKeysWithValues: (0..<129).map { (MirrorKey("/t/\($0)"), "x") })
            let many = await #expect(throws: MirrorError.self) { try await mirror.set(values) }
            #expect(many?.code == .tooManyChanges)
            let large = await #expect(throws: MirrorError.self) { try await mirror.set(text(1_600_000), for: "/t/a") }
            #expect(large?.code == .tooLarge)
            let larger = await #expect(throws: MirrorError.self) { try await mirror.set(text(3 << 20), for: "/t/a") }
            #expect(larger?.code == .tooLarge)
            #expect(mirror.contents.value.entries.isEmpty)
            #expect(mirror.state.value.isReady)
            try await mirror.set("1", for: "/t/a")
        }
    }
}
#endif
