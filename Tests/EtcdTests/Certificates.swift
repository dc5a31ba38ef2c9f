// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Foundation

/// A certificate authority of the test's own, made by openssl, with the certificates that it signs.
final class Certificates: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try openssl("req -x509 \(Self.newKey) -keyout ca.key -out ca.crt -days 2 -subj /CN=authority")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

    var authority: String { path("ca.crt") }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Makes a key and a certificate: `name.key` and `name.crt`. A second time it replaces them.
    ///
    /// - Parameters:
    ///   - user: The common name, which is etcd's user.
    ///   - hosts: The alternative names.
    ///   - days: How many days it is valid; negative if it has expired.
    @discardableResult
    func sign(
        _ name: String,
        user: String = "server",
        hosts: String = "IP:127.0.0.1,DNS:localhost",
        days: Int = 2
    ) throws -> EtcdConfiguration.TLS {
        try openssl("req \(Self.newKey) -keyout \(name).key -out \(name).csr -subj /CN=\(user)")
        let extensions = "subjectAltName=\(hosts)\nextendedKeyUsage=serverAuth,clientAuth\n"
        try Data(extensions.utf8).write(to: folder.appendingPathComponent("\(name).ext"))
        try openssl(
            "x509 -req -in \(name).csr -CA ca.crt -CAkey ca.key -CAcreateserial -days \(days) -extfile \(name).ext -out \(name).crt"
        )
        return EtcdConfiguration.TLS(
            certificateAuthorities: authority,
            certificateChain: path("\(name).crt"),
            privateKey: path("\(name).key")
        )
    }

    /// The arguments that a server of etcd needs.
    func arguments(_ name: String) -> [String] {
        ["--cert-file", path("\(name).crt"), "--key-file", path("\(name).key")]
    }

    func openssl(_ arguments: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw TestFailure("openssl \(arguments) fails") }
    }
}
#endif
