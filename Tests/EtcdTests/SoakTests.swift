// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Everything breaks while others write", .timeLimit(.minutes(20)))
struct SoakTests {
    /// How many transactions at least; `ETCD_TRANSACTIONS` says another number. There are three
    /// rounds at least: in each, another member is the victim.
    private static let transactions =
        ProcessInfo.processInfo.environment["ETCD_TRANSACTIONS"].flatMap { Int($0) } ?? 1_000

    private enum Fault: CaseIterable {
        case killedLeader, stoppedMember, cutOff, hanging, slow, compaction
    }

    @Test(
        "Members are killed and stopped, connections cut, hung and slowed, revisions compacted: the six properties hold"
    )
    func soak() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        let history = try History(etcd.urls, prefix: "/t/")
        let proxies = try etcd.nodes.map { try Proxy(to: $0.clientPort) }
        let metrics = TestMetrics()
        // Each has one member, through a proxy; the last has all.
        let mirrors =
            proxies.map { EtcdMirror<String>.test("/t/", [$0.url], metrics: metrics) }
            + [.test("/t/", etcd.urls, metrics: metrics)]
        let recorders = mirrors.map(Recorder.init)
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let writers = Writers(etcd.urls, "/t/", tasks: Self.transactions > 10_000 ? 8 : 1)
        var (rounds, compactions) = (0, 0)
        var slowest = Duration.zero
        while rounds < 3 || writers.count < Self.transactions {
            for fault in Fault.allCases {
                let victim = (rounds + 1) % 3
                switch fault {
                case .killedLeader:
                    let leader = try await etcd.leader()
                    etcd.kill(leader)
                    // The others elect a leader before they write again.
                    try await writers.whenWritten(60)
                    try etcd.start(leader)
                case .stoppedMember:
                    etcd.send(SIGSTOP, to: victim)
                    try await Task.sleep(for: .milliseconds(1_500))
                    etcd.send(SIGCONT, to: victim)
                case .cutOff:
                    try proxies[victim].command("drop")
                    try await Task.sleep(for: .milliseconds(500))
                    try proxies[victim].command("allow")
                case .hanging:
                    try proxies[victim].command("hang")
                    // Longer than a probe's interval and limit.
                    try await Task.sleep(for: .milliseconds(1_500))
                    try proxies[victim].command("drop")
                    try proxies[victim].command("allow")
                case .slow:
                    try proxies[victim].command("delay 20")
                    try await Task.sleep(for: .milliseconds(500))
                    try proxies[victim].command("allow")
                case .compaction:
                    try proxies[victim].command("drop")
                    try await Task.sleep(for: .milliseconds(300))
                    try await TestClient.with(etcd.urls[victim]) { client in
                        let revision = try await client.list("/t/").revision
                        // The judge must have seen what vanishes. Beside two dozen writers it needs
                        // its time.
                        try await eventually("etcdctl follows", within: .seconds(60)) { history.last >= revision }
                        try await client.compact(revision)
                    }
                    compactions += 1
                    try proxies[victim].command("allow")
                }
                try await etcd.waitUntilHealthy()
                let healed = ContinuousClock.now
                for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(10)) }
                slowest = max(slowest, healed.duration(to: .now))
            }
            rounds += 1
        }
        let count = await writers.stop()
        let used = metrics["lists_total"] - mirrors.count
        print(
            "soak: \(count) transactions, \(rounds * Fault.allCases.count) faults, \(metrics["ended_sessions_total"]) sessions ended, "
                + "\(used) lists after the first; the slowest healing took \(slowest)"
        )
        #expect(used >= 1 && used <= compactions * mirrors.count)
        try await check(mirrors, recorders, history, etcd.urls[0], mayList: true)
    }
}
#endif
