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
        let scheme: String
        let place: Place
        var url: String { "\(scheme)://\(place.host):\(clientPort)" }
        var peerURL: String { "http://\(place.host):\(peerPort)" }
    }

    let nodes: [Node]
    private let folder: URL
    private let children = Mutex<[Child?]>([])
    private let arguments: [String]
    private let access: Access?
    private let rootPassword = Mutex<String?>(nil)

    /// Where a node runs.
    struct Place: Sendable {
        var host = "127.0.0.1"
        /// A command that runs the node's, which follows.
        var command: [String] = []
    }

    /// The settings that the test's own clients need for TLS.
    struct Access: Sendable {
        let tls: EtcdConfiguration.TLS
    }

    /// - Parameters:
    ///   - access: The TLS settings of the test's own clients, if the servers use TLS.
    ///   - waits: Whether to wait until the servers answer; not if their certificates are bad.
    init(
        nodes count: Int = 1,
        arguments: [String] = [],
        access: Access? = nil,
        places: [Place] = [],
        waits: Bool = true
    ) async throws {
        let ports = Self.freePorts(2 * count)
        nodes = (0..<count).map {
            Node(
                name: "n\($0)",
                clientPort: ports[2 * $0],
                peerPort: ports[2 * $0 + 1],
                scheme: access == nil ? "http" : "https",
                place: places.isEmpty ? Place() : places[$0]
            )
        }
        self.access = access
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("etcd-\(UUID().uuidString)")
        self.arguments = arguments
        children.withLock { $0 = Array(repeating: nil, count: count) }
        for index in 0..<count { try start(index) }
        if waits { try await waitUntilHealthy() }
    }

    deinit {
        for child in children.withLock({ $0 }) { child?.end() }
        try? FileManager.default.removeItem(at: folder)
    }

    var urls: [String] { nodes.map(\.url) }

    /// - Parameter isNew: Whether the node has no data, and gets those of the others.
    func start(_ index: Int, isNew: Bool = false) throws {
        let node = nodes[index]
        let cluster = nodes.map { "\($0.name)=\($0.peerURL)" }.joined(separator: ",")
        let child = try Child(
            node.place.command + [
                "etcd", "--name", node.name, "--data-dir", folder.appendingPathComponent(node.name).path,
                "--listen-client-urls", node.url, "--advertise-client-urls", node.url,
                "--listen-peer-urls", node.peerURL, "--initial-advertise-peer-urls", node.peerURL,
                "--initial-cluster", cluster, "--heartbeat-interval", "50", "--election-timeout", "500",
                // The disk is no part of these tests.
                "--unsafe-no-fsync", "--log-level", "error",
                // Neither is what a password costs.
                "--bcrypt-cost", "4",
            ] + (isNew ? ["--initial-cluster-state", "existing"] : []) + arguments
        )
        children.withLock { $0[index] = child }
    }

    /// How many bytes of memory a node has.
    func memory(_ index: Int = 0) -> Int {
        children.withLock { $0[index] }.map { memoryOfProcess($0.id) } ?? 0
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

    /// Starts a node without data as a new member of the cluster, which forgets the one that had
    /// them.
    func joinAnew(_ index: Int, inPlaceOf member: UInt64) async throws {
        let others = nodes.indices.filter { $0 != index }.map { nodes[$0].url }
        try await control("member remove \(String(member, radix: 16))", at: others)
        try await control("member add \(nodes[index].name) --peer-urls \(nodes[index].peerURL)", at: others)
        try start(index, isNew: true)
    }

    func waitUntilHealthy() async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        for node in nodes {
            while true {
                do {
                    _ = try await TestClient.with(node.url, access?.tls) { try await $0.list("health") }
                    break
                } catch {
                    if ContinuousClock.now > deadline { throw TestFailure("etcd does not start: \(error)") }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }

    /// Runs `etcdctl`, as root if there is one.
    func control(_ command: String, at endpoints: [String]? = nil) async throws {
        var arguments = ["env", "ETCDCTL_API=3", "etcdctl", "--endpoints", (endpoints ?? urls).joined(separator: ",")]
        // A busy machine takes longer than etcdctl's own limits, which are 2 and 5 seconds.
        arguments += ["--dial-timeout", "20s", "--command-timeout", "20s"]
        if let tls = access?.tls {
            arguments += ["--cacert", tls.certificateAuthorities!]
            if let chain = tls.certificateChain { arguments += ["--cert", chain, "--key", tls.privateKey!] }
        }
        if let password = rootPassword.withLock({ $0 }) { arguments += ["--user", "root:\(password)"] }
        // Its last line says whether it has succeeded.
        let shell = ["bash", "-c", #"if "$@" 2>&1; then echo done; fi"#, "bash"]
        let child = try Child(shell + arguments + command.split(separator: " ").map(String.init))
        var output: [String] = []
        while let line = await onThread({ child.readLine() }) { output.append(line) }
        guard output.last == "done" else { throw TestFailure("etcdctl \(command) fails: \(output)") }
    }

    /// Enables authentication, with a user who may read and write a prefix; the password is
    /// `secret`.
    func allow(_ user: String, _ prefix: String) async throws {
        for command in [
            "user add root:secret", "user add \(user):secret", "role add \(user)",
            "role grant-permission \(user) readwrite --prefix=true \(prefix)", "user grant-role root root",
            "user grant-role \(user) \(user)", "auth enable",
        ] { try await control(command) }
        rootPassword.withLock { $0 = "secret" }
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
        // Bound all at once, so that they differ. Below what the system gives to outgoing
        // connections: one of those could take the port of a server that is down for a moment.
        var sockets: [Int32] = []
        defer { for descriptor in sockets { close(descriptor) } }
        var ports: [Int] = []
        while ports.count < count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(descriptor)
            let port = Int.random(in: 10_000..<32_000)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let bound = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if bound == 0 { ports.append(port) }
        }
        return ports
    }
}
#endif
