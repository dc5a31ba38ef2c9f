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
            try await writers.whenWritten(100)
            let leader = try await etcd.leader()
            etcd.kill(leader)
            // The others elect a leader before they write again.
            try await writers.whenWritten(200)
            try etcd.start(leader)
            try await etcd.waitUntilHealthy()
        }
        let count = await writers.stop()
        try await check(mirrors, recorders, history, etcd.urls[0])
        print("leader: \(count) transactions")
    }

    @Test(
        "A member loses its data, and joins anew while others write: its mirror resumes; a second after healing the mirrors equal a range read"
    )
    func joinsAnew() async throws {
        // Members may change before they have known each other for long.
        let etcd = try await EtcdCluster(nodes: 3, arguments: ["--strict-reconfig-check=false"])
        let history = try History(etcd.urls, prefix: "/t/")
        let victim = try await etcd.leader()
        let metrics = TestMetrics()
        // One that can go nowhere else, and one that can.
        let mirrors: [EtcdMirror<String>] = [
            .test("/t/", [etcd.urls[victim]], metrics: metrics),
            .test("/t/", (0..<3).map { etcd.urls[(victim + $0) % 3] }),
        ]
        let recorders = mirrors.map(Recorder.init)
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let writers = Writers(etcd.urls, "/t/")
        try await writers.whenWritten(100)
        let lost = try await TestClient.with(etcd.urls[victim]) { try await $0.status().header.memberID }
        etcd.kill(victim)
        try etcd.wipe(victim)
        try await eventually("stale") { mirrors[0].state.value.name == "stale" }
        try await mirrors[1].waitUntilReady(within: .seconds(15))
        // The others elect a leader before they write again. Until then they drop the removal of a
        // member, and etcdctl gets no answer.
        try await writers.whenWritten(200)
        try await etcd.joinAnew(victim, inPlaceOf: lost)
        try await etcd.waitUntilHealthy()
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(10)) }
        let count = await writers.stop()
        try await check(mirrors, recorders, history, etcd.urls[victim])
        // The new member has the old revisions: nothing was lost but a copy.
        #expect(metrics["lists_total"] == 1)
        print("joined anew: \(count) transactions")
    }

    @Test(
        "A member stands still: its mirror goes to another after a probe's interval and limit, however long a request may take"
    )
    func standsStill() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        let still = (try await etcd.leader() + 1) % 3
        let mirror = EtcdMirror<String>.test("/t/", (0..<3).map { etcd.urls[(still + $0) % 3] }) {
            $0.requestTimeout = .seconds(20)
            $0.probeTimeout = .seconds(1)
        }
        try await withMirror(mirror) { mirror in
            etcd.send(SIGSTOP, to: still)
            defer { etcd.send(SIGCONT, to: still) }
            let begin = ContinuousClock.now
            try await TestClient.with(etcd.urls[(still + 1) % 3]) { _ = try await $0.put("/t/a", "1") }
            try await eventually("the change is there", within: .seconds(10)) { mirror.contents.value["/t/a"] == "1" }
            print("a member stood still: its mirror had the change after \(begin.duration(to: .now))")
            try await mirror.waitUntilReady(within: .seconds(5))
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
            let error = await #expect(throws: MirrorError.self) { try await mirror.set("2", for: "/t/a") }
            #expect(error?.code == .notConnected)
            for index in 0..<3 { etcd.send(SIGCONT, to: index) }
            try await mirror.waitUntilReady(within: .seconds(15))
            try await mirror.set("3", for: "/t/a")
        }
    }
}
#endif
