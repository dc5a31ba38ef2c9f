// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program with its arguments, found on the PATH.
struct Command {
    let arguments: [String]
    let folder: String?
    let environment: [String: String]

    /// Makes a command.
    ///
    /// - Parameters:
    ///   - folder: The working directory; nil for the caller's.
    ///   - environment: The variables that the program gets in addition to the caller's.
    ///   - seconds: The time after which the program is killed, with the exit code 137; nil for no
    ///     limit.
    init(
        _ program: String,
        _ arguments: [String],
        in folder: String? = nil,
        environment: [String: String] = [:],
        atMost seconds: Int? = nil
    ) {
        // `timeout` inherits the signal mask of this thread, which may block any other signal.
        self.arguments = (seconds.map { ["timeout", "-s", "KILL", "\($0)"] } ?? []) + [program] + arguments
        self.folder = folder
        self.environment = environment
    }

    /// Runs the command until it ends. Returns the exit code, and the text of both outputs, or only
    /// of standard output.
    func run(errors: Bool = true) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = errors ? pipe : FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        // A shell adds 128 to the number of the signal that has ended a program.
        let signal: Int32 = process.terminationReason == .uncaughtSignal ? 128 : 0
        return (process.terminationStatus + signal, String(decoding: data, as: UTF8.self))
    }

    /// Runs the command, and returns its output. If the exit code is not 0, fails with all of the
    /// text that it has written.
    @discardableResult
    func succeed(_ purpose: String? = nil) throws -> String {
        let (code, output) = try run(errors: purpose != nil)
        if code != 0 { throw Failure(output, purpose ?? "\(arguments.joined(separator: " ")) exits with \(code)") }
        return output
    }
}

/// A folder that is removed at the end.
final class TemporaryFolder {
    let path: String

    /// Makes the folder, empty. If no path is given, it is in the system's temporary folder.
    init(at path: String? = nil) throws {
        let files = FileManager.default
        self.path = path ?? files.temporaryDirectory.resolvingSymlinksInPath().path + "/checks-\(UUID().uuidString)"
        try? files.removeItem(atPath: self.path)
        try files.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file, and makes the folders on its path. Returns its path.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        return file
    }
}

extension String {
    /// The text without the line break at its end, if it has one.
    var chomped: String { hasSuffix("\n") ? String(dropLast()) : self }

    /// The lines, without their line breaks.
    var lines: [Substring] { chomped.split(separator: "\n", omittingEmptySubsequences: false) }

    /// Returns the texts between two marks, each time that the marks occur.
    func between(_ start: String, _ end: String) -> [String] {
        components(separatedBy: start).dropFirst().compactMap {
            guard let range = $0.range(of: end) else { return nil }
            return String($0[..<range.lowerBound])
        }
    }
}
