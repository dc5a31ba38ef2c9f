// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation

/// Network namespaces of the test's own, one for each node, on one bridge: links that can be cut
/// and slowed down.
final class Namespaces: Sendable {
    private let id = String(UInt16.random(in: 0x1000...0xFFFF), radix: 16)
    private let subnet = "10.\(Int.random(in: 100..<250)).\(Int.random(in: 0..<250))"
    private let count: Int

    /// Whether this machine permits them: the superuser, `ip` and `tc`.
    static let isPossible: Bool = {
        guard let probe = try? Namespaces(1) else { return false }
        do {
            try probe.slow(0)
            return true
        } catch { return false }
    }()

    init(_ count: Int) throws {
        self.count = count
        try Self.run(
            "ip link add br\(id) type bridge && ip addr add \(subnet).1/24 dev br\(id) && ip link set br\(id) up"
        )
        for index in 0..<count {
            let (space, link) = (name(index), "v\(id)\(index)")
            try Self.run("ip netns add \(space) && ip link add \(link) type veth peer name eth0 netns \(space)")
            try Self.run("ip link set \(link) master br\(id) up && ip netns exec \(space) ip link set lo up")
            try Self.run(
                "ip netns exec \(space) ip addr add \(host(index))/24 dev eth0 && ip netns exec \(space) ip link set eth0 up"
            )
        }
    }

    deinit {
        for index in 0..<count { try? Self.run("ip netns del \(name(index))") }
        try? Self.run("ip link del br\(id)")
    }

    private func name(_ index: Int) -> String { "etcd\(id)\(index)" }
    private func host(_ index: Int) -> String { "\(subnet).\(10 + index)" }

    var places: [EtcdCluster.Place] {
        (0..<count).map { .init(host: host($0), command: ["ip", "netns", "exec", name($0)]) }
    }

    /// Nothing reaches the node, and nothing leaves it: packets vanish, and no connection ends.
    func isolate(_ index: Int) throws { try Self.run("ip link set v\(id)\(index) down") }

    /// The node and the other nodes lose each other. Clients reach them all.
    func separate(_ index: Int) throws {
        for other in 0..<count where other != index {
            try Self.run("ip netns exec \(name(index)) ip route add blackhole \(host(other))/32")
        }
    }

    /// Delays and loses what reaches the node; where the kernel emulates no networks, a narrow link
    /// that queues and drops.
    func slow(_ index: Int) throws {
        let link = "tc qdisc replace dev v\(id)\(index) root"
        try Self.run("\(link) netem delay 30ms 10ms loss 2% || \(link) tbf rate 1mbit burst 8kb latency 200ms")
    }

    func heal(_ index: Int) throws {
        try Self.run("tc qdisc del dev v\(id)\(index) root 2>/dev/null || true")
        try Self.run("ip link set v\(id)\(index) up")
        try Self.run("ip netns exec \(name(index)) ip route flush type blackhole || true")
    }

    private static func run(_ command: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("fails: \(command)") }
    }
}
#endif
