// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Synchronization
import Testing

/// Commits transactions of one to four keys, some of them deletions, from several tasks.
func write(_ count: Int, _ prefix: String, _ url: String, tasks: Int = 4, size: Int = 8) async throws {
    try await TestClient.with(url) { client in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks { group.addTask { try await write(count / tasks, prefix, client, size: size) } }
            try await group.waitForAll()
        }
    }
}

/// Commits such transactions one after another.
func write(_ count: Int, _ prefix: String, _ client: TestClient, size: Int = 8) async throws {
    for index in 0..<count {
        let chosen = Set((0..<Int.random(in: 1...4)).map { _ in "\(prefix)k\(Int.random(in: 0..<40))" })
        let text = "\(index)." + String(repeating: "x", count: size)
        try await client.commit(chosen.map { Int.random(in: 0..<5) == 0 ? .delete($0) : .put($0, text) })
    }
}

/// Adds one to a number fifty times, as others do.
private func count(_ mirror: EtcdMirror<String>) async throws {
    for _ in 0..<50 { try await mirror.update("/f/n") { "\(Int($0 ?? "0")! + 1)" } }
}

@Suite("Following one etcd", .timeLimit(.minutes(1)))
struct FollowingTests {
    @Test("Keys, changes and deletions appear; a key's property follows")
    func follows() async throws {
        let etcd = try await EtcdCluster()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/f/a", "1")
            try await client.put("/other", "x")
            try await withMirror(.test("/f/", etcd.urls)) { mirror in
                #expect(mirror.contents.value["/f/a"] == "1")
                let a = mirror.property("/f/a")
                let seen = Mutex<[String?]>([])
                let token = a.observe(options: .initial) { change in seen.withLock { $0.append(change.new) } }
                for value in ["2", "3"] { try await client.put("/f/a", value) }
                let last = try await client.delete("/f/a")
                try await mirror.waitUntil(last, within: .seconds(5))
                #expect(a.value == nil)
                #expect(seen.withLock { $0 } == ["1", "2", "3", nil])
                #expect(mirror.contents.value.entries.isEmpty)
                token.cancel()
            }
        }
    }

    @Test("A change is written if the mirror has seen the last one, and is shown when it returns")
    func writes() async throws {
        let etcd = try await EtcdCluster()
        let mirror = EtcdMirror<String>.test("/f/", etcd.urls)
        await #expect(throws: MirrorError.self) { try await mirror.set("early", for: "/f/a") }
        try await withMirror(mirror) { mirror in
            let revision = try await mirror.set("1", for: "/f/a")
            #expect(mirror.contents.value["/f/a"] == "1")
            #expect(mirror.contents.value.revision == revision)
            try await mirror.set("2", for: "/f/a")
            try await mirror.remove("/f/a")
            #expect(mirror.contents.value["/f/a"] == nil)
            try await mirror.remove("/f/a")
            let outside = await #expect(throws: MirrorError.self) { try await mirror.set("x", for: "/g") }
            #expect(outside?.code == .invalidConfiguration)
            let current = try await mirror.set("3", for: "/f/a", ifRevision: 0)
            for revision in [0, current - 1, current + 1] {
                let conflict = await #expect(throws: MirrorError.self) {
                    try await mirror.set("x", for: "/f/a", ifRevision: revision)
                }
                #expect(conflict?.code == .conflict)
            }
            #expect(mirror.contents.value["/f/a"] == "3")
        }
        let after = await #expect(throws: MirrorError.self) { try await mirror.set("late", for: "/f/a") }
        #expect(after?.code == .notConnected)
    }

    @Test("Several keys are written if the keys that are named have the revisions that are named, also others")
    func severalKeys() async throws {
        let etcd = try await EtcdCluster()
        try await withMirror(.test("/f/", etcd.urls)) { mirror in
            let first = try await mirror.set(["/f/a": "1", "/f/b": "1"])
            let second = try await mirror.set(["/f/a": "2"], ifRevisions: ["/f/b": first])
            for stale: [MirrorKey: Int64] in [
                ["/f/a": first], ["/f/a": second, "/f/b": second], ["/f/a": 0], ["/f/c": first],
            ] {
                let error = await #expect(throws: MirrorError.self) {
                    try await mirror.set(["/f/a": "x", "/f/c": "x"], ifRevisions: stale)
                }
                #expect(error?.code == .conflict)
            }
            try await TestClient.with(etcd.urls[0]) { client in
                // Whatever the mirror has seen by then.
                try await client.delete("/f/b")
                let error = await #expect(throws: MirrorError.self) {
                    try await mirror.set(["/f/a": "x"], ifRevisions: ["/f/b": first])
                }
                #expect(error?.code == .conflict)
                #expect(error?.message.contains("'/f/b' after revision \(first)") == true)
            }
            try await mirror.set(["/f/c": "3"], ifRevisions: ["/f/a": second, "/f/b": 0, "/f/c": 0])
            #expect(mirror.contents.value.shown.mapValues(\.value) == ["/f/a": "2", "/f/c": "3"])
        }
    }

    @Test("Two mirrors that update one key: no change is lost")
    func conflicts() async throws {
        let etcd = try await EtcdCluster()
        try await withMirror(.test("/f/", etcd.urls)) { first in
            try await withMirror(.test("/f/", etcd.urls)) { second in
                async let one: Void = count(first)
                async let two: Void = count(second)
                _ = try await (one, two)
                try await second.waitUntil(first.position.value, within: .seconds(5))
                try await first.waitUntil(second.position.value, within: .seconds(5))
                #expect(first.contents.value["/f/n"] == "100")
                #expect(second.contents.value["/f/n"] == "100")
            }
        }
    }

    @Test("Thousands of transactions: ordered, unique, atomic, reliable, bookmarkable")
    func transactions() async throws {
        let etcd = try await EtcdCluster()
        let history = try History(etcd.urls, prefix: "/t/")
        let mirror = EtcdMirror<String>.test("/t/", etcd.urls)
        let recorder = Recorder(mirror)
        try await withMirror(mirror) { mirror in
            try await write(2_000, "/t/", etcd.urls[0])
            try await TestClient.with(etcd.urls[0]) { client in
                let last = try await client.put("/t/end", "end")
                try await mirror.waitUntil(last, within: .seconds(10))
                recorder.check(try await history.changes(until: last))
                #expect(try await client.list("/t/").values == mirror.contents.value.shown)
            }
        }
    }

    @Test("Values are decoded as JSON; a malformed one leaves the last good one, with an error")
    func malformed() async throws {
        struct Flag: Codable, Equatable { var on: Bool }
        let etcd = try await EtcdCluster()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.put("/f/bad", "{")
            let mirror = EtcdMirror<Flag>(.prefix("/f/"), at: .test(etcd.urls), coding: .json)
            try await withMirror(mirror) { mirror in
                #expect(mirror.contents.value["/f/bad"] == nil)
                #expect(mirror.contents.value.errors["/f/bad"] != nil)
                try await mirror.set(Flag(on: true), for: "/f/a")
                let bad = try await client.put("/f/a", Data([0xFF, 0xFE]))
                try await mirror.waitUntil(bad, within: .seconds(5))
                #expect(mirror.contents.value["/f/a"] == Flag(on: true))
                #expect(mirror.contents.value.errors["/f/a"]?.revision == bad)
                #expect(mirror.state.value.isReady)
                try await mirror.set(Flag(on: false), for: "/f/a")
                #expect(mirror.contents.value["/f/a"] == Flag(on: false))
                #expect(mirror.contents.value.errors["/f/a"] == nil)
                let gone = try await client.delete("/f/bad")
                try await mirror.waitUntil(gone, within: .seconds(5))
                #expect(mirror.contents.value.errors.isEmpty)
            }
        }
    }
}
#endif
