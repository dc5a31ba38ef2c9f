// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The machine on which the figures were measured.
struct Machine: Encodable {
    let system: String
    let processor: String
    let processors: Int
    let toolchain: String

    init() {
        system = ProcessInfo.processInfo.operatingSystemVersionString
        processors = ProcessInfo.processInfo.activeProcessorCount
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        processor = model?.trimmingCharacters(in: .whitespaces) ?? "unknown"
        toolchain = Self.output(of: ["swift", "--version"]).split(separator: "\n").first.map(String.init) ?? "unknown"
    }

    /// Returns the output of a command; empty if the command cannot be run.
    private static func output(of command: [String]) -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return "" }
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }

    var text: String { "\(processor), \(processors) processors, \(system), \(toolchain)" }
}
