// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Distinguishes a thread that waits in vain from one whose partner did not run: how long the
/// process's threads waited for a processor.
///
/// On a machine with much else to do a thread may get a few milliseconds in ten seconds, and
/// nothing is wrong with the library.
struct Starvation {
    private let start = nanoseconds()
    private let before: QueueTimes
    private let threads: Threads

    /// Which threads are looked at.
    enum Threads {
        case all
        /// The threads that the library has started, known by their names.
        case own
    }

    init(of threads: Threads = .all) {
        (self.threads, before) = (threads, QueueTimes(threads))
    }

    /// Whether some thread has been ready to run, and not running, for a quarter of the time since
    /// the start.
    var hasHappened: Bool {
        let quarter = (nanoseconds() - start) / 4
        return QueueTimes(threads).since(before).contains { $0 > quarter }
    }

    /// How long the threads have stood in line since the start, added up.
    var total: UInt64 { QueueTimes(threads).since(before).reduce(0, +) }
}

/// The nanoseconds that each thread has waited for a processor since it began.
///
/// The system counts a wait when it ends: a thread that waits for a processor now is counted later.
struct QueueTimes {
    private var waits: [String: UInt64] = [:]

    init(_ threads: Starvation.Threads) {
        guard let folder = unsafe opendir("/proc/self/task") else { return }
        defer { unsafe closedir(folder) }
        // Safe: the entry is read before the next call.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            let path = "/proc/self/task/\(name)"
            if threads == .own, !Line.first(of: "\(path)/comm").hasPrefix("observe-") { continue }
            waits[name] = Self.wait(in: "\(path)/schedstat")
        }
    }

    /// How long each of the threads has waited since `before`. All waits of a thread count if it
    /// has started since then.
    func since(_ before: QueueTimes) -> [UInt64] {
        waits.map { thread, wait in wait - min(wait, before.waits[thread] ?? 0) }
    }

    /// The calling thread's.
    static var own: UInt64 { wait(in: "/proc/thread-self/schedstat") ?? 0 }

    private static func wait(in path: String) -> UInt64? {
        // "run wait slices"; a thread that has just ended has none.
        let fields = Line.first(of: path).split(separator: " ")
        return fields.count > 1 ? UInt64(fields[1]) : nil
    }
}

/// The first line of a small file of the system's; empty if there is none.
enum Line {
    static func first(of path: String) -> String {
        guard let file = unsafe fopen(path, "r") else { return "" }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard unsafe fgets(&line, 128, file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
