// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Networks that lose and delay packets", .timeLimit(.minutes(2)), .serialized)
struct NetworkTests {
    private static let skipped: Comment = "needs the superuser, ip netns and tc"

    @Test(
        "Members are cut off from everything, then from one another alone, then slow: the six properties hold, and each mirror heals",
        .enabled(if: Namespaces.isPossible, skipped)
    )
    func partitions() async throws {
        let network = try Namespaces(3)
        let etcd = try await EtcdCluster(nodes: 3, places: network.places)
        let history = try History(etcd.urls, prefix: "/t/")
        // Each has one member; the last has all.
        let mirrors = (0..<3).map { EtcdMirror<String>.test("/t/", [etcd.urls[$0]]) } + [.test("/t/", etcd.urls)]
        let recorders = mirrors.map(Recorder.init)
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let writers = Writers(etcd.urls, "/t/")
        for round in 0..<3 {
            let leader = try await etcd.leader()
            switch round {
            case 0: try network.isolate(leader)
            case 1: try network.separate(leader)
            default: for index in 0..<3 { try network.slow(index) }
            }
            if round < 2 {
                try await eventually("the lonely mirror is stale") { !mirrors[leader].state.value.isReady }
                try await eventually("another is ready") { mirrors[(leader + 1) % 3].state.value.isReady }
                try await mirrors[3].waitUntilReady(within: .seconds(15))
            } else {
                try await Task.sleep(for: .milliseconds(1_500))
            }
            for index in 0..<3 { try network.heal(index) }
            let healed = ContinuousClock.now
            for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(10)) }
            print("network, round \(round): all mirrors are ready \(healed.duration(to: .now)) after healing")
        }
        let count = await writers.stop()
        try await check(mirrors, recorders, history, etcd.urls[0])
        print("network: \(count) transactions")
    }
}

/// A second after healing each mirror equals a range read; then its record agrees with etcd's
/// history.
func check(
    _ mirrors: [EtcdMirror<String>],
    _ recorders: [Recorder],
    _ history: History,
    _ url: String,
    mayList: Bool = false
) async throws {
    try await TestClient.with(url) { client in
        let last = try await client.put("/t/end", "end")
        let begin = ContinuousClock.now
        for mirror in mirrors { _ = try await mirror.timeUntilEqual("/t/", client) }
        let time = begin.duration(to: .now)
        print("\(mirrors.count) mirrors equal a range read after \(time)")
        #expect(time < .seconds(1))
        let changes = try await history.changes(until: last)
        for recorder in recorders { recorder.check(changes, mayList: mayList) }
    }
}
#endif
