// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation
import Synchronization

/// A process that ends when this object, or the test's process, does.
final class Child: Sendable {
    private let process: Mutex<Process>
    private let input: FileHandle
    private let output: Mutex<FileHandle>

    /// The bytes that the child has written to standard output and the test has not read.
    private let rest = Mutex(Data())

    /// - Parameters:
    ///   - arguments: A program with its arguments.
    ///   - ends: Whether the shell around the program ends it, at the end of the shell's own
    ///     standard input; if not, the program gets that input.
    init(_ arguments: [String], ends: Bool = true) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // The first line is the process id, written before the program can write. The shell keeps
        // no standard output: it ends with the program. The shell waits until that has ended:
        // otherwise the system's first process collects it, which may take two seconds.
        let guarded = #"exec 3<&0; (echo $BASHPID; exec "$@" <&3) & exec >&-; wait"#
        let watched = #"(echo $BASHPID; exec "$@" </dev/null) & exec >&-; cat >/dev/null; kill -9 %1; wait"#
        process.arguments = ["-c", ends ? watched : guarded, "bash"] + arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = Mutex(process)
        self.input = input.fileHandleForWriting
        self.output = Mutex(output.fileHandleForReading)
        guard let id = readLine().flatMap({ Int32($0) }) else { throw TestFailure("\(arguments) does not start") }
        programID.withLock { $0 = id }
    }

    private let programID = Mutex<Int32>(0)

    /// The program's process id; 0 until it has started.
    var id: Int32 { programID.withLock { $0 } }

    func send(_ signal: Int32) {
        // 0 would be the test's own process group.
        guard id > 0 else { return }
        _ = kill(id, signal)
    }

    func write(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }

    /// The next line of standard output. Blocks.
    ///
    /// - Parameter limit: The longest wait, in milliseconds; -1 to wait as long as it takes.
    /// - Returns: nil at the end of the output, and at the limit: a program that was asked and is
    ///   silent for so long has hung.
    func readLine(within limit: Int32 = 30_000) -> String? {
        rest.withLock { rest in
            output.withLock { output in
                while true {
                    if let end = rest.firstIndex(of: 0x0A) {
                        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                        rest = Data(rest[(end + 1)...])
                        return line
                    }
                    var waiting = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
                    // Safe: one descriptor, for the length of the call.
                    let ready = unsafe poll(&waiting, 1, limit)
                    if ready < 0, errno == EINTR { continue }
                    guard ready > 0 else { return nil }
                    let piece = output.availableData
                    if piece.isEmpty { return nil }
                    rest += piece
                }
            }
        }
    }

    /// Kills the program. Returns when it is gone, and its ports are free for another.
    func end() {
        let id = programID.withLock { id in
            defer { id = 0 }
            return id
        }
        // Once: afterwards the number may be another process's.
        if id > 0 { _ = kill(id, SIGKILL) }
        try? input.close()
        // The shell collects it, if that was not killed, too.
        for _ in 0..<10_000 where id > 0 && kill(id, 0) == 0 { usleep(1_000) }
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
        guard let port = child.readLine().flatMap({ Int($0) }) else { throw TestFailure("the proxy does not start") }
        self.port = port
    }

    func command(_ line: String) throws { _ = try answer(line) }

    /// How many connections were made so far, refused ones included.
    func accepted() throws -> Int { Int(try answer("count")) ?? 0 }

    private func answer(_ line: String) throws -> String {
        try child.write(line)
        guard let answer = child.readLine() else { throw TestFailure("the proxy does not answer '\(line)'") }
        return answer
    }
}
#endif
