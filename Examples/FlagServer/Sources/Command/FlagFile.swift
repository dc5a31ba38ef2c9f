// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import FlagServer
import Foundation
import HTTPEdge
import OpenFeature
import ServiceLifecycle

extension FlagService {
    /// Follows a file, `{"dark-mode": {"enabled": true, "rollout": 25}}`, and sets the flags to its
    /// contents. Reads the file before it returns.
    ///
    /// A flag that the file does not name is off. If there is no file, the first change makes it.
    ///
    /// - Parameter interval: The time after which it checks again whether the file has changed.
    mutating func follow(file path: String, every interval: Duration = .milliseconds(500)) async {
        let file = FlagFile(path: path, flags: flags)
        await file.refresh()
        services.append(FileService(file: file, interval: interval))
        source = FlagSource(
            change: { flags, condition in try await file.change(flags, if: condition) },
            state: {
                let error: String? = if case .error(let message) = file.status.value { message } else { nil }
                return SourceState(source: "file", state: error == nil ? "ready" : "failed", error: error)
            },
            status: file.status.readOnly,
            hasFlags: file.hasFlags.readOnly
        )
    }
}

private struct FileService: Service {
    let file: FlagFile
    let interval: Duration

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: interval)) != nil { await file.refresh() }
        }
    }
}

/// Keeps the file and the flags equal. A new file is one commit, and a commit replaces the file.
///
/// While the file cannot be read or decoded, the flags keep their values, and the file is not
/// overwritten.
private actor FlagFile {
    nonisolated let status = Observed(ProviderStatus.notReady)
    nonisolated let hasFlags = Observed(false)
    private let url: URL
    private let flags: FeatureFlags
    /// The contents from which the flags were set, or which could not be decoded; nil if there was
    /// no file.
    private var seen: Data?
    /// Whether the last attempt to read the file has found these contents.
    private var isRead = false

    init(path: String, flags: FeatureFlags) {
        url = URL(fileURLWithPath: path)
        self.flags = flags
    }

    /// Reads the file, and sets the flags if its contents have changed.
    func refresh() {
        do {
            let contents = try read()
            if isRead, contents == seen { return }
            (seen, isRead) = (contents, true)
            let given = try contents.map { try JSONDecoder().decode([String: Flag].self, from: $0) } ?? [:]
            if let unknown = given.keys.first(where: { Flag.Name(rawValue: $0) == nil }) {
                throw FileError(message: "no flag has the name '\(unknown)'")
            }
            let named = Flag.Name.allCases.map { ($0, given[$0.rawValue] ?? Flag()) }.filter {
                flags[$0].value.flag != $1
            }
            if !named.isEmpty { try flags.change(Dictionary(uniqueKeysWithValues: named)) }
            hasFlags.value = true
            set(.ready)
        } catch {
            let text = (error as? DecodingError)?.explanation ?? (error as? FileError)?.message ?? "\(error)"
            set(.error("\(url.path): \(text)"))
        }
    }

    /// Changes the file, and then the flags. Flags that are shown are therefore stored.
    func change(_ changes: [Flag.Name: Flag], if condition: WriteCondition?) throws {
        refresh()
        if case .error(let message) = status.value {
            throw SourceUnavailable(message: "nothing was changed: \(message)")
        }
        let snapshot = flags.snapshot
        // No other code changes the flags.
        try condition?.check(snapshot)
        let all = Flag.Name.allCases.map { "  \"\($0.rawValue)\": \((changes[$0] ?? snapshot[$0].flag).encoded)" }
        let contents = Data("{\n\(all.joined(separator: ",\n"))\n}\n".utf8)
        do {
            try replace(by: contents)
        } catch {
            throw SourceUnavailable(message: "nothing was changed: \(url.path) cannot be written: \(error)")
        }
        seen = contents
        try flags.change(changes)
    }

    private func read() throws -> Data? {
        do {
            return try Data(contentsOf: url)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile && seen == nil {
            return nil
        } catch {
            isRead = false
            let isGone = (error as? CocoaError)?.code == .fileReadNoSuchFile
            throw FileError(message: isGone ? "it is not there any more" : "\(error)")
        }
    }

    /// Replaces the whole file in one step. A reader, or a start after a crash, finds the old
    /// contents or these.
    private func replace(by contents: Data) throws {
        let new = url.appendingPathExtension("new")
        try contents.write(to: new)
        let handle = try FileHandle(forWritingTo: new)
        defer { try? handle.close() }
        try handle.synchronize()
        // Safe: the call reads both texts only while it runs.
        guard unsafe rename(new.path, url.path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private func set(_ new: ProviderStatus) { if status.value != new { status.value = new } }
}

private struct FileError: Error { let message: String }
