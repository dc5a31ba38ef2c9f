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
        let isWriting = Observed(true)
        let writing = Task {
            var count = 0
            // An attempt that fails may have been made: the history has it then.
            while isWriting.value {
                for url in etcd.urls where isWriting.value {
                    do {
                        try await write(50, "/t/", url, tasks: 1)
                        count += 50
                    } catch { continue }
                }
            }
            return count
        }
        for _ in 0..<2 {
            try await Task.sleep(for: .seconds(1))
            let leader = try await etcd.leader()
            etcd.kill(leader)
            try await Task.sleep(for: .seconds(2))
            try etcd.start(leader)
            try await etcd.waitUntilHealthy()
        }
        isWriting.value = false
        let count = await writing.value
        let healed = ContinuousClock.now
        try await TestClient.with(etcd.urls[0]) { client in
            let last = try await client.put("/t/end", "end")
            for mirror in mirrors {
                _ = try await mirror.timeUntilEqual("/t/", client)
                #expect(healed.duration(to: .now) < .seconds(2))
                try await mirror.waitUntilReady(within: .seconds(5))
            }
            let changes = try await history.changes(until: last)
            for recorder in recorders { recorder.check(changes) }
            print("committed at least \(count) transactions; \(changes.count) revisions")
        }
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
            let error = await #expect(throws: EtcdMirrorError.self) { try await mirror.set("2", for: "/t/a") }
            #expect(error?.code == .notConnected)
            for index in 0..<3 { etcd.send(SIGCONT, to: index) }
            try await mirror.waitUntilReady(within: .seconds(15))
            try await mirror.set("3", for: "/t/a")
        }
    }
}
#endif
