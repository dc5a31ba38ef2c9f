// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Measures how long the process's threads have waited for a processor. If a thread waits for a
/// partner that did not run, this distinguishes it from a wait for an event that never comes.
///
/// On a machine with other work, a thread may get a few milliseconds in ten seconds. This is no
/// defect of the library.
package struct Starvation {
    private let start = nanoseconds()
    private let before: QueueTimes
    private let threads: Threads

    /// The threads that are measured.
    package enum Threads: Sendable {
        case all
        /// The threads whose names begin with this text.
        case named(String)
    }

    package init(of threads: Threads = .all) {
        (self.threads, before) = (threads, QueueTimes(threads))
    }

    /// Whether some thread has been ready to run but was not run for a quarter of the time since
    /// the start.
    package var hasHappened: Bool {
        let quarter = (nanoseconds() - start) / 4
        return QueueTimes(threads).since(before).contains { $0 > quarter }
    }

    /// The time that the threads have waited for a processor since the start, added up over all
    /// threads.
    package var total: UInt64 { QueueTimes(threads).since(before).reduce(0, +) }
}

/// Waits until `condition` holds. Stops if `progress` has not changed for some seconds in which
/// the process got enough processor time.
///
/// - Returns: Whether the condition holds.
package func waitWhileMoving(_ progress: () -> UInt64 = { 0 }, until condition: () -> Bool) -> Bool {
    let patience = UInt64(4_000_000_000 * WaitInVain.factor) * min(Sanitizer.slowdown, 4)
    var last = progress()
    var since = nanoseconds()
    var starvation: Starvation?
    while !condition() {
        usleep(200)
        let now = progress()
        if now != last {
            (last, since, starvation) = (now, nanoseconds(), nil)
        } else if nanoseconds() - since > patience {
            // The second half of the time decides.
            if let starvation, !starvation.hasHappened {
                WaitInVain.note(2 * patience)
                return false
            }
            (since, starvation) = (nanoseconds(), Starvation())
        }
    }
    return true
}

/// The time that each thread has waited for a processor since it began, in nanoseconds.
///
/// The system counts a wait when it ends: a wait that goes on now is counted later.
package struct QueueTimes {
    private var waits: [String: UInt64] = [:]

    package init(_ threads: Starvation.Threads) {
        guard let folder = unsafe opendir("/proc/self/task") else { return }
        defer { unsafe closedir(folder) }
        // Safe: the entry is read before the next call.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            let path = "/proc/self/task/\(name)"
            if case .named(let prefix) = threads, !Line.first(of: "\(path)/comm").hasPrefix(prefix) { continue }
            waits[name] = Self.wait(in: "\(path)/schedstat")
        }
    }

    /// Returns the time that each of the threads has waited since `before`. For a thread that has
    /// started since then, all its waits are counted.
    package func since(_ before: QueueTimes) -> [UInt64] {
        waits.map { thread, wait in wait - min(wait, before.waits[thread] ?? 0) }
    }

    /// The time that the calling thread has waited.
    package static var own: UInt64 { wait(in: "/proc/thread-self/schedstat") ?? 0 }

    private static func wait(in path: String) -> UInt64? {
        // The line is "run wait slices". A thread that has just ended has none.
        let fields = Line.first(of: path).split(separator: " ")
        return fields.count > 1 ? UInt64(fields[1]) : nil
    }
}

/// Reads the first line of a small file of the system.
package enum Line {
    package static func first(of path: String) -> String {
        guard let file = unsafe fopen(path, "r") else { return "" }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard unsafe fgets(&line, 128, file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
