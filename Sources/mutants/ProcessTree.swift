// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A command's process, which has its own process group, and all processes that it has started.
///
/// A variable in the environment marks them. Processes without a parent, or in another session,
/// inherit this variable, too. It misses a process that has no parent, has its own session and has
/// emptied its environment.
struct ProcessTree: Equatable {
    let root: pid_t
    /// The name of the variable.
    let mark: String

    /// Waits until the root process has ended, but does not reap it.
    func waitForRoot() {
        var information = unsafe siginfo_t()
        // Safe: the call writes to the variable.
        while unsafe waitid(P_PID, id_t(root), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Reaps the root process. Returns its exit code, or 128 plus the number of the signal that
    /// ended it. Returns nil if it was reaped before, or has not ended.
    func reapRoot() -> Int32? {
        var status: Int32 = 0
        // Safe: the call writes to the variable.
        guard unsafe waitpid(root, &status, WNOHANG) == root else { return nil }
        return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }

    /// Kills all processes of the tree, and waits at most ten seconds until they are gone.
    func kill() {
        _ = signal(-root)
        for _ in 0..<1_000 {
            let left = Self.processes(with: mark)
            if left.isEmpty { return }
            for each in left { _ = signal(each) }
            usleep(10_000)
        }
    }

    /// Kills the processes that are no longer below the root. Returns whether there were any.
    func killDetached() -> Bool {
        let detached = Self.processes(with: mark).subtracting(Self.below([root], in: Self.processes()))
        for each in detached { _ = signal(each) }
        return !detached.isEmpty
    }

    private func signal(_ process: pid_t) -> Int32 { Foundation.kill(process, SIGKILL) }

    /// Returns the processes that have begun with a text in their environment, and all processes
    /// below them.
    static func processes(with mark: String) -> Set<pid_t> {
        let table = processes()
        let marked = table.filter { $0.value.text.range(of: Data(mark.utf8)) != nil }
        return below(Array(marked.keys), in: table)
    }

    private typealias Table = [pid_t: (parent: pid_t, text: Data)]

    private static func below(_ roots: [pid_t], in table: Table) -> Set<pid_t> {
        var (found, next) = (Set(roots), roots)
        while let parent = next.popLast() {
            for (process, entry) in table where entry.parent == parent && found.insert(process).inserted {
                next.append(process)
            }
        }
        return found
    }

    /// Returns all running processes with their environments.
    private static func processes() -> Table {
        var table: Table = [:]
        #if os(Linux)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            // After the name in parentheses come the state and the parent.
            guard let id = pid_t(name),
                let fields = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8))?
                    .split(separator: ")").last?.split(separator: " "),
                fields.count > 1, !["Z", "X"].contains(fields[0]), let parent = pid_t(fields[1])
            else { continue }
            table[id] = (parent, (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(id)/environ"))) ?? Data())
        }
        #else
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/ps")
        process.arguments = ["-A", "-E", "-ww", "-o", "pid=,ppid=,command="]
        process.standardOutput = pipe
        guard (try? process.run()) != nil, let data = try? pipe.fileHandleForReading.readToEnd() else { return [:] }
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
            let ids = line.split(separator: " ", maxSplits: 2).prefix(2).compactMap { pid_t($0) }
            if ids.count == 2 { table[ids[0]] = (ids[1], Data(line.utf8)) }
        }
        #endif
        return table
    }
}

/// Kills the running commands when the user ends `mutants`.
enum Interruption {
    /// The commands that are running.
    static let running = Mutex<[ProcessTree]>([])
    /// The end of a pipe to which a handler writes the number of the signal.
    private nonisolated(unsafe) static var input: Int32 = -1

    static func endTheCommandsToo() {
        let pipe = Pipe()
        // Safe: written once, before there is a handler.
        unsafe input = dup(pipe.fileHandleForWriting.fileDescriptor)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                // Safe: a handler may call `write`, and the byte lives as long as the call.
                _ = unsafe write(Interruption.input, &byte, 1)
            }
        }
        Thread.detachNewThread {
            guard let number = try? pipe.fileHandleForReading.read(upToCount: 1)?.first else { return }
            // The lock is held until the process ends, so that no other command starts.
            running.withLock { all in
                for each in all { each.kill() }
                _exit(128 + Int32(number))
            }
        }
    }
}
