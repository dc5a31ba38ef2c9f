// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import FlagServer
import Foundation
import HTTPEdge
import OpenFeature
import ServiceLifecycle

extension FlagService {
    /// Makes the flags those of a file, `{"dark-mode": {"enabled": true, "rollout": 25}}`, and
    /// reads it.
    ///
    /// A flag that the file does not name is off. A file that is not there is made by the first
    /// change.
    ///
    /// - Parameter interval: How often to look whether the file is another.
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

/// The file and the flags, kept equal: what replaces the file is one commit, and a commit replaces
/// the file.
///
/// While the file cannot be read or understood, the flags stay as they are, and nothing is written
/// over it.
private actor FlagFile {
    nonisolated let status = Observed(ProviderStatus.notReady)
    nonisolated let hasFlags = Observed(false)
    private let url: URL
    private let flags: FeatureFlags
    /// The contents that the flags are of, or that could not be understood; nil if there was no
    /// file.
    private var seen: Data?
    /// Whether the last attempt to read has found the contents that were seen.
    private var isRead = false

    init(path: String, flags: FeatureFlags) {
        url = URL(fileURLWithPath: path)
        self.flags = flags
    }

    /// Makes the flags what the file says, if it says something else than before.
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

    /// Changes flags, and the file first: what is shown is kept.
    func change(_ changes: [Flag.Name: Flag], if condition: WriteCondition?) throws {
        refresh()
        if case .error(let message) = status.value {
            throw SourceUnavailable(message: "nothing was changed: \(message)")
        }
        let snapshot = flags.snapshot
        // Nothing else changes the flags.
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

    /// As a whole: a reader, and a start after a crash, finds the contents before or these.
    private func replace(by contents: Data) throws {
        let new = url.appendingPathExtension("new")
        try contents.write(to: new)
        let handle = try FileHandle(forWritingTo: new)
        defer { try? handle.close() }
        try handle.synchronize()
        // Safe: the call reads both texts while it runs, and not later.
        guard unsafe rename(new.path, url.path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private func set(_ new: ProviderStatus) { if status.value != new { status.value = new } }
}

private struct FileError: Error { let message: String }
