// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A command's process, which is a process group of its own, and all that it has started.
///
/// A variable in the environment marks them. Processes without a parent, or in another session,
/// inherit the mark, too. An orphan in another session with an emptied environment is missed.
struct ProcessTree: Equatable {
    let root: pid_t
    /// The name of the variable.
    let mark: String

    /// Waits until the root has ended, and leaves it to be reaped.
    func waitForRoot() {
        var information = unsafe siginfo_t()
        // Safe: the call writes to the variable.
        while unsafe waitid(P_PID, id_t(root), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// The exit code; of a signal, 128 and its number. Nil if the root is reaped, or has not ended.
    func reapRoot() -> Int32? {
        var status: Int32 = 0
        // Safe: the call writes to the variable.
        guard unsafe waitpid(root, &status, WNOHANG) == root else { return nil }
        return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }

    /// Kills all of them, and waits until they are gone: ten seconds at most.
    func kill() {
        _ = signal(-root)
        for _ in 0..<1_000 {
            let left = Self.processes(with: mark)
            if left.isEmpty { return }
            for each in left { _ = signal(each) }
            usleep(10_000)
        }
    }

    /// Kills those that are not below the root any more; whether there were any.
    func killDetached() -> Bool {
        let detached = Self.processes(with: mark).subtracting(Self.below([root], in: Self.processes()))
        for each in detached { _ = signal(each) }
        return !detached.isEmpty
    }

    private func signal(_ process: pid_t) -> Int32 { Foundation.kill(process, SIGKILL) }

    /// The processes with a text in the environment that they have begun with, and all below them.
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

    /// The processes that run, with their environments.
    private static func processes() -> Table {
        var table: Table = [:]
        #if os(Linux)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            // Behind the name, in parentheses: the state and the parent.
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

/// Kills the commands that run when the user ends `mutants`.
enum Interruption {
    /// The commands that run.
    static let running = Mutex<[ProcessTree]>([])
    /// The end of a pipe that takes the number of the signal.
    private nonisolated(unsafe) static var input: Int32 = -1

    static func endTheCommandsToo() {
        let pipe = Pipe()
        // Safe: written once, before there is a handler.
        unsafe input = dup(pipe.fileHandleForWriting.fileDescriptor)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                // Safe: a handler may write, and the byte lives as long as the call.
                _ = unsafe write(Interruption.input, &byte, 1)
            }
        }
        Thread.detachNewThread {
            guard let number = try? pipe.fileHandleForReading.read(upToCount: 1)?.first else { return }
            // Locked until the process ends: nothing starts any more.
            running.withLock { all in
                for each in all { each.kill() }
                _exit(128 + Int32(number))
            }
        }
    }
}
