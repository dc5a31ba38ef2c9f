// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Three servers", .timeLimit(.minutes(2)))
struct ClusterTests {
    @Test(
        "The leader is killed twice while others write: the six properties hold; a second after healing the mirrors equal a range read"
    )
    func leader() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        let history = try History(etcd.urls, prefix: "/t/")
        // Each begins with another member.
        let mirrors = (0..<3).map { first in
            EtcdMirror<String>.test("/t/", (0..<3).map { etcd.urls[(first + $0) % 3] })
        }
        let recorders = mirrors.map(Recorder.init)
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let writers = Writers(etcd.urls, "/t/")
        for _ in 0..<2 {
            try await Task.sleep(for: .seconds(1))
            let leader = try await etcd.leader()
            etcd.kill(leader)
            try await Task.sleep(for: .seconds(2))
            try etcd.start(leader)
            try await etcd.waitUntilHealthy()
        }
        let count = await writers.stop()
        try await check(mirrors, recorders, history, etcd.urls[0])
        print("leader: \(count) transactions")
    }

    @Test("A member without a quorum: a mirror that can reach no other is stale; one that can is ready")
    func partition() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        let leader = try await etcd.leader()
        let lonely = (leader + 1) % 3
        let mirror = EtcdMirror<String>.test("/t/", [etcd.urls[lonely]])
        try await withMirror(mirror) { mirror in
            try await mirror.set("1", for: "/t/a")
            for index in 0..<3 where index != lonely { etcd.send(SIGSTOP, to: index) }
            try await eventually("stale", within: .seconds(6)) { mirror.state.value.name == "stale" }
            let error = await #expect(throws: MirrorError.self) { try await mirror.set("2", for: "/t/a") }
            #expect(error?.code == .notConnected)
            for index in 0..<3 { etcd.send(SIGCONT, to: index) }
            try await mirror.waitUntilReady(within: .seconds(15))
            try await mirror.set("3", for: "/t/a")
        }
    }
}
#endif
