// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation
import Synchronization

/// A process that ends when this object, or the test's process, does.
final class Child: Sendable {
    private let process: Mutex<Process>
    private let input: FileHandle
    private let output: Mutex<FileHandle>

    /// What the child has written to standard output and the test has not read.
    private let rest = Mutex(Data())

    /// - Parameter command: Arguments of a shell that ends what it runs at the end of its standard input.
    init(_ arguments: [String], ends: Bool = true) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // The first line that it writes is the process id of the program.
        let guarded = #"exec 3<&0; "$@" <&3 & p=$!; echo $p; wait $p"#
        let watched = #""$@" </dev/null & p=$!; echo $p; cat >/dev/null; kill -9 $p"#
        process.arguments = ["-c", ends ? watched : guarded, "bash"] + arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = Mutex(process)
        self.input = input.fileHandleForWriting
        self.output = Mutex(output.fileHandleForReading)
        programID.withLock { $0 = Int32(readLine() ?? "") ?? 0 }
    }

    private let programID = Mutex<Int32>(0)

    var id: Int32 { programID.withLock { $0 } }

    func send(_ signal: Int32) { _ = kill(programID.withLock { $0 }, signal) }

    func write(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }

    /// The next line of standard output; nil at its end. Blocks.
    func readLine() -> String? {
        rest.withLock { rest in
            output.withLock { output in
                while true {
                    if let end = rest.firstIndex(of: 0x0A) {
                        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                        rest = Data(rest[(end + 1)...])
                        return line
                    }
                    let piece = output.availableData
                    if piece.isEmpty { return nil }
                    rest += piece
                }
            }
        }
    }

    func end() {
        send(SIGKILL)
        try? input.close()
    }

    deinit { end() }
}

/// Runs a block on a thread of its own: reading from a child blocks.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}

/// Forwards to an endpoint, and breaks connections on command.
final class Proxy: Sendable {
    private let child: Child
    let port: Int
    var url: String { "http://127.0.0.1:\(port)" }

    init(to port: Int) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("proxy.py").path
        child = try Child(["python3", "-u", script, "127.0.0.1", "\(port)"], ends: false)
        self.port = Int(child.readLine() ?? "") ?? 0
    }

    func command(_ line: String) throws { _ = try answer(line) }

    /// How many connections were made so far, refused ones included.
    func accepted() throws -> Int { Int(try answer("count")) ?? 0 }

    private func answer(_ line: String) throws -> String {
        try child.write(line)
        guard let answer = child.readLine() else { throw TestFailure("the proxy has ended") }
        return answer
    }
}
#endif
