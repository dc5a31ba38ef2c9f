// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Synchronization

/// Writes each line of the log as a JSON object to standard error.
package struct JSONLog: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    /// Lines of several threads must not mix.
    private static let output = Mutex(FileHandle.standardError)

    package init(label: String) { self.label = label }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadataProvider?.get() ?? [:]
        all.merge(metadata) { $1 }
        all.merge(event.metadata ?? [:]) { $1 }
        let line = Line(
            time: Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            level: event.level.rawValue,
            logger: label,
            message: "\(event.message)",
            metadata: all.isEmpty ? nil : all.mapValues { "\($0)" }
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A structure of texts can always be encoded.
        guard var data = try? encoder.encode(line) else { return }
        data.append(UInt8(ascii: "\n"))
        Self.output.withLock { try? $0.write(contentsOf: data) }
    }

    private struct Line: Encodable {
        let time, level, logger, message: String
        let metadata: [String: String]?
    }
}
