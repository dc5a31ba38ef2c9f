// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Foundation
import Synchronization

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Real etcd servers on loopback ports, with data of their own.
final class EtcdCluster: Sendable {
    struct Node: Sendable {
        let name: String
        let clientPort: Int
        let peerPort: Int
        var url: String { "http://127.0.0.1:\(clientPort)" }
    }

    let nodes: [Node]
    private let folder: URL
    private let children = Mutex<[Child?]>([])
    private let arguments: [String]

    init(nodes count: Int = 1, arguments: [String] = []) async throws {
        let ports = Self.freePorts(2 * count)
        nodes = (0..<count).map { Node(name: "n\($0)", clientPort: ports[2 * $0], peerPort: ports[2 * $0 + 1]) }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("etcd-\(UUID().uuidString)")
        self.arguments = arguments
        children.withLock { $0 = Array(repeating: nil, count: count) }
        for index in 0..<count { try start(index) }
        try await waitUntilHealthy()
    }

    deinit {
        for child in children.withLock({ $0 }) { child?.end() }
        try? FileManager.default.removeItem(at: folder)
    }

    var urls: [String] { nodes.map(\.url) }

    func start(_ index: Int) throws {
        let node = nodes[index]
        let cluster = nodes.map { "\($0.name)=http://127.0.0.1:\($0.peerPort)" }.joined(separator: ",")
        let child = try Child(
            [
                "etcd", "--name", node.name, "--data-dir", folder.appendingPathComponent(node.name).path,
                "--listen-client-urls", node.url, "--advertise-client-urls", node.url,
                "--listen-peer-urls", "http://127.0.0.1:\(node.peerPort)",
                "--initial-advertise-peer-urls", "http://127.0.0.1:\(node.peerPort)",
                "--initial-cluster", cluster, "--heartbeat-interval", "50", "--election-timeout", "500",
                // The disk is no part of these tests.
                "--unsafe-no-fsync", "--log-level", "error",
            ] + arguments
        )
        children.withLock { $0[index] = child }
    }

    func send(_ signal: Int32, to index: Int = 0) { children.withLock { $0[index] }?.send(signal) }

    func kill(_ index: Int = 0) {
        children.withLock { children in
            children[index]?.end()
            children[index] = nil
        }
    }

    func wipe(_ index: Int = 0) throws {
        try FileManager.default.removeItem(at: folder.appendingPathComponent(nodes[index].name))
    }

    func waitUntilHealthy() async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        for node in nodes {
            while true {
                do {
                    _ = try await TestClient.with(node.url) { try await $0.list("health") }
                    break
                } catch {
                    if ContinuousClock.now > deadline { throw TestFailure("etcd does not start: \(error)") }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }

    /// The index of the leader.
    func leader() async throws -> Int {
        for (index, node) in nodes.enumerated() {
            let status = try await TestClient.with(node.url) { try await $0.status() }
            if status.leader == status.header.memberID { return index }
        }
        throw TestFailure("no leader")
    }

    static func freePorts(_ count: Int) -> [Int] {
        // Bound all at once, so that they differ.
        let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for descriptor in sockets { close(descriptor) } }
        return sockets.map { descriptor in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = unsafe bind(descriptor, pointer, length)
                    _ = unsafe getsockname(descriptor, pointer, &length)
                }
            }
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }
}
#endif
