// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Keys that end with a lease", .timeLimit(.minutes(1)))
struct LeaseTests {
    /// etcd looks for expired leases twice a second, and revokes them by a transaction.
    private let bound = Duration.seconds(2)

    @Test(
        "A key lives as long as its lease's keeper; the keeper is killed: the key is gone within the lease's time and a bound"
    )
    func keeper() async throws {
        let etcd = try await EtcdCluster()
        try await TestClient.with(etcd.urls[0]) { client in
            try await withMirror(.test("/f/", etcd.urls)) { mirror in
                let lease = try await client.lease(seconds: 1)
                let keeper = try Child([
                    "env", "ETCDCTL_API=3", "etcdctl", "--endpoints", etcd.urls[0], "lease", "keep-alive",
                    String(lease, radix: 16),
                ])
                _ = await onThread { keeper.readLine() }
                try await mirror.set("1", for: "/f/a", lease: lease)
                let property = Recording(mirror.property("/f/a"))
                try await Task.sleep(for: .milliseconds(2_500))
                #expect(mirror.contents.value["/f/a"] == "1")
                let killed = ContinuousClock.now
                keeper.end()
                try await eventually("the key is gone", within: .seconds(1) + bound) {
                    mirror.contents.value["/f/a"] == nil
                }
                #expect(killed.duration(to: .now) >= .milliseconds(250))
                try await eventually("the key's property follows") { !property.values.isEmpty }
                #expect(property.values == [nil])
            }
        }
    }

    @Test("A lease that ends while the mirror is cut off: the key is gone when the mirror is back")
    func disconnected() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try await TestClient.with(etcd.urls[0]) { client in
            try await withMirror(.test("/f/", [proxy.url])) { mirror in
                try await mirror.set("1", for: "/f/a", lease: try await client.lease(seconds: 1))
                try await mirror.set("2", for: "/f/b")
                try proxy.command("drop")
                try await eventually("the lease has ended") { try await client.list("/f/").values.count == 1 }
                #expect(mirror.contents.value["/f/a"] == "1")
                try proxy.command("allow")
                try await mirror.waitUntilReady(within: .seconds(5))
                #expect(mirror.contents.value["/f/a"] == nil)
                #expect(mirror.contents.value["/f/b"] == "2")
            }
        }
    }

    @Test("A lease that is not there: an error, and nothing is written")
    func unknown() async throws {
        let etcd = try await EtcdCluster()
        try await withMirror(.test("/f/", etcd.urls)) { mirror in
            let error = await #expect(throws: MirrorError.self) {
                try await mirror.set("1", for: "/f/a", lease: 12_345)
            }
            #expect(error?.code == .noLease)
            #expect(mirror.contents.value["/f/a"] == nil)
            #expect(mirror.state.value.isReady)
        }
    }
}
#endif
