// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Which server a mirror uses", .timeLimit(.minutes(2)))
struct SpreadTests {
    @Test("A seed decides the order; without one, many mirrors prefer all servers alike")
    func order() {
        let servers = ["a", "b", "c"]
        #expect(MirrorConfiguration.ServerOrder.asGiven.arrange(servers) == servers)
        var firsts: [String: Int] = [:]
        var orders: Set<[String]> = []
        for seed in 0..<1_000 {
            let order = MirrorConfiguration.ServerOrder.shuffled(seed: UInt64(seed))
            #expect(order.arrange(servers) == order.arrange(servers))
            #expect(order.arrange(servers).sorted() == servers)
            firsts[order.arrange(servers)[0], default: 0] += 1
            orders.insert(order.arrange(servers))
        }
        // Three standard deviations of 1,000 draws of one in three are 45.
        #expect(firsts.values.allSatisfy { abs($0 - 333) <= 45 }, "\(firsts)")
        #expect(orders.count == 6)
        #expect(Set((0..<100).map { _ in MirrorConfiguration.ServerOrder.shuffled.arrange(servers) }).count > 1)
        #expect(MirrorConfiguration().serverOrder == .shuffled)
    }

    @Test("The mirrors of a server that was away ask for it over a whole interval, none at once")
    func pauses() {
        var generator = SystemRandomNumberGenerator()
        let configuration = MirrorConfiguration()
        // The pauses of 1,000 mirrors are counted by tenths of the interval of 300 s. Each tenth
        // has a tenth of them, with a tolerance of four standard deviations.
        var tenths = [Int](repeating: 0, count: 10)
        for _ in 0..<1_000 {
            let pause = configuration.returnPause(using: &generator) / .seconds(1)
            #expect(pause >= 150 && pause <= 450)
            tenths[min(Int((pause - 150) / 30), 9)] += 1
        }
        #expect(tenths.allSatisfy { abs($0 - 100) <= 40 }, "\(tenths)")
    }

    /// How many mirrors each member has.
    private func spread(_ mirrors: [EtcdMirror<String>], _ etcd: EtcdCluster) -> [Int] {
        var counts = etcd.nodes.map { _ in 0 }
        for mirror in mirrors {
            guard let session = mirror.present.value.session else { continue }
            for (index, url) in etcd.urls.enumerated() where url == session.connection.endpoint.description {
                counts[index] += 1
            }
        }
        return counts
    }

    @Test(
        "Mirrors spread over three members; one is killed: its mirrors spread over the others, and come back to it one by one"
    )
    func balance() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        // Two of each order: each member is the first of four.
        var bySeed: [[String]: [UInt64]] = [:]
        for seed in 0..<200 as Range<UInt64> {
            bySeed[MirrorConfiguration.ServerOrder.shuffled(seed: seed).arrange(etcd.urls), default: []].append(seed)
        }
        let seeds = bySeed.values.flatMap { $0.prefix(2) }
        #expect(seeds.count == 12)
        let metrics = TestMetrics()
        let mirrors = seeds.map { seed in
            EtcdMirror<String>.test("/t/", etcd.urls, metrics: metrics) {
                $0.serverOrder = .shuffled(seed: seed)
                $0.returnInterval = .seconds(4)
                $0.requestTimeout = .seconds(5)
                $0.probeTimeout = .seconds(2)
            }
        }
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(30)) }
        #expect(spread(mirrors, etcd) == [4, 4, 4])
        etcd.kill(0)
        try await eventually("the others have them") { spread(mirrors, etcd) == [0, 6, 6] }
        try etcd.start(0)
        try await etcd.waitUntilHealthy()
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let states = mirrors.map { Recording($0.state) }
        let back = ContinuousClock.now
        // Changes that are made while mirrors move are neither refused nor lost.
        let isWriting = Observed(true)
        async let written: Int = {
            var count = 0
            while isWriting.value {
                for (index, mirror) in mirrors.enumerated() {
                    try await mirror.set("\(count)", for: MirrorKey("/t/\(index)"))
                }
                count += 1
                try await Task.sleep(for: .milliseconds(10))
            }
            return count
        }()
        var returns: [Duration] = []
        try await eventually("they come back") {
            let count = spread(mirrors, etcd)[0]
            while returns.count < count { returns.append(back.duration(to: .now)) }
            return count == 4
        }
        #expect(spread(mirrors, etcd) == [4, 4, 4])
        isWriting.value = false
        #expect(try await written > 0)
        print("balance: the mirrors were back after \(returns)")
        #expect(states.allSatisfy { $0.values.allSatisfy(\.isReady) })
        #expect(metrics["lists_total"] == mirrors.count)
    }
}
#endif
