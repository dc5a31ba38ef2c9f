// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Configuration
import Logging

/// The command line. An option that is not given is nil, so that the environment or the file can
/// set it.
struct ServerOptions: ParsableArguments {
    @Option(help: "A file with options, as JSON.")
    var config: String?

    @Option(help: "The address to listen at; 127.0.0.1 unless given.")
    var host: String?

    @Option(help: "The port to listen at, 8080 unless given; 0 for any that is free.")
    var port: Int?

    @Option(help: "The lowest level to log: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel: String?

    @Option(help: "How to log: text, or json, a line for each object.")
    var logFormat: String?

    @Option(help: "How many seconds a connection may be without a request.")
    var idleLimit: Int?

    @Option(help: "A name that clients may give the server as 'Host'; may be repeated.")
    var allowedHost: [String] = []

    @Option(help: "A file with a token. Who changes a flag must have it: 'Authorization: Bearer TOKEN'.")
    var writeTokenFile: String?

    @Option(help: "A file that has the flags, as JSON: read again when it changes, and replaced by each change.")
    var file: String?

    @Option(help: "The URL of an etcd member that has the flags, as http://127.0.0.1:2379; may be repeated.")
    var etcd: [String] = []

    @Option(help: "A file with the authorities that sign etcd's certificates, in PEM form; the system's unless given.")
    var etcdCa: String?

    @Option(help: "A file with this server's certificate for etcd, in PEM form.")
    var etcdCertificate: String?

    @Option(help: "A file with the certificate's key, in PEM form.")
    var etcdKey: String?

    @Option(help: "The user that etcd knows this server as.")
    var etcdUser: String?

    @Option(help: "The user's password. Others on this machine see a command line: prefer the environment or the file.")
    var etcdPassword: String?

    @Option(help: "How many seconds the flags may be stale before /readyz answers 503; 30 unless given.")
    var staleLimit: Int?

    @Option(help: "The port for flagd's sync protocol; 0 for any that is free.")
    var flagdPort: Int?

    init() {}

    /// The given options, by their keys.
    var given: [AbsoluteConfigKey: ConfigValue] {
        let texts: [(AbsoluteConfigKey, String?)] = [
            ("config", config), ("host", host), ("log.level", logLevel), ("log.format", logFormat),
            ("write.token.file", writeTokenFile), ("file", file), ("etcd.ca", etcdCa),
            ("etcd.certificate", etcdCertificate), ("etcd.key", etcdKey), ("etcd.user", etcdUser),
            ("etcd.password", etcdPassword),
        ]
        let numbers: [(AbsoluteConfigKey, Int?)] = [
            ("port", port), ("idle.limit", idleLimit), ("stale.limit", staleLimit), ("flagd.port", flagdPort),
        ]
        let lists: [(AbsoluteConfigKey, [String])] = [("allowed.host", allowedHost), ("etcd.endpoints", etcd)]
        var all: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let key, let value?) in texts {
            all[key] = ConfigValue(.string(value), isSecret: key == "etcd.password")
        }
        for case (let key, let value?) in numbers { all[key] = ConfigValue(.int(value), isSecret: false) }
        for (key, value) in lists where !value.isEmpty { all[key] = ConfigValue(.stringArray(value), isSecret: false) }
        return all
    }
}
