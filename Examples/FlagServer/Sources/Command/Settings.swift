// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Configuration
import Foundation
import Logging
import SystemPackage

/// The settings of the server: from the command line, else from the environment, else from a file.
struct Settings: Sendable {
    let host: String
    let port: Int
    let logLevel: Logger.Level
    let logsJSON: Bool
    let idleLimit: Int
    let allowedHosts: [String]
    let file: String?
    let etcd: Etcd
    let staleLimit: Int
    let flagdPort: Int?
    private let writeTokenFile: String?

    /// The address of etcd and how to connect. Files are in PEM form.
    struct Etcd: Sendable {
        let endpoints: [String]
        let ca, certificate, key, user, password: String?
    }

    /// Reads the settings.
    ///
    /// - Throws: `ValidationError` for an impossible value, and errors of reading the file.
    init(_ options: ServerOptions) async throws {
        let first: [any ConfigProvider] = [
            InMemoryProvider(name: "command line", values: options.given),
            EnvironmentVariablesProvider(secretsSpecifier: .specific(["FLAGSERVER_ETCD_PASSWORD"]))
                .prefixKeys(with: "flagserver"),
        ]
        var reader = SettingsReader(config: ConfigReader(providers: first))
        if let path = reader.text("config") {
            let file = try await FileProvider<JSONSnapshot>(filePath: FilePath(path))
            reader = SettingsReader(config: ConfigReader(providers: first + [file]))
        }
        host = reader.text("host") ?? "127.0.0.1"
        port = try reader.number("port", in: 0...65_535) ?? 8_080
        logLevel = try reader.choice("log.level", Logger.Level.self) ?? .info
        logsJSON = try reader.choice("log.format", LogFormat.self) == .json
        idleLimit = try reader.number("idle.limit", in: 1...86_400) ?? 60
        staleLimit = try reader.number("stale.limit", in: 0...86_400) ?? 30
        flagdPort = try reader.number("flagd.port", in: 0...65_535)
        allowedHosts = reader.list("allowed.host").map { $0.lowercased() }
        writeTokenFile = reader.text("write.token.file")
        file = reader.text("file")
        etcd = Etcd(
            endpoints: reader.list("etcd.endpoints"),
            ca: reader.text("etcd.ca"),
            certificate: reader.text("etcd.certificate"),
            key: reader.text("etcd.key"),
            user: reader.text("etcd.user"),
            password: reader.secret("etcd.password")
        )
        try validate()
    }

    private enum LogFormat: String, CaseIterable { case text, json }

    private func validate() throws {
        #if !Etcd
        guard etcd.endpoints.isEmpty else { throw ValidationError("'--etcd' needs a build with the trait Etcd") }
        #endif
        #if !Flagd
        guard flagdPort == nil else { throw ValidationError("'--flagd-port' needs a build with the trait Flagd") }
        #endif
        guard file == nil || etcd.endpoints.isEmpty else {
            throw ValidationError("the flags are either in '--etcd' or in '--file'")
        }
        guard (etcd.certificate == nil) == (etcd.key == nil) else {
            throw ValidationError("'--etcd-certificate' and '--etcd-key' belong together")
        }
        guard (etcd.user == nil) == (etcd.password == nil) else {
            throw ValidationError("'--etcd-user' and '--etcd-password' belong together")
        }
    }

    /// Returns the token that changes need; nil if none is configured.
    ///
    /// - Throws: `ValidationError` if the file cannot be read, or if its token has fewer than 16
    ///   characters.
    func writeToken() throws -> String? {
        guard let writeTokenFile else { return nil }
        guard let text = try? String(contentsOfFile: writeTokenFile, encoding: .utf8) else {
            throw ValidationError("'--write-token-file \(writeTokenFile)' cannot be read")
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard token.count >= 16 else {
            throw ValidationError("a token has 16 characters at least: '\(writeTokenFile)'")
        }
        return token
    }
}

/// Reads values by their keys. Its errors name the option with the impossible value.
private struct SettingsReader {
    let config: ConfigReader

    func text(_ key: ConfigKey) -> String? { config.string(forKey: key) }

    func secret(_ key: ConfigKey) -> String? { config.string(forKey: key, isSecret: true) }

    func list(_ key: ConfigKey) -> [String] { config.stringArray(forKey: key, default: []) }

    func number(_ key: ConfigKey, in range: ClosedRange<Int>) throws -> Int? {
        let number = config.int(forKey: key)
        // A text that is no number is a mistake. The default does not replace it.
        guard number != nil || text(key) != nil else { return nil }
        guard let number, range.contains(number) else {
            throw ValidationError("\(option(key)) is from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: ConfigKey, _: Choice.Type) throws -> Choice? {
        guard let text = text(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw ValidationError("\(option(key)) is \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    private func option(_ key: ConfigKey) -> String { "'--\(key.components.joined(separator: "-"))'" }
}
