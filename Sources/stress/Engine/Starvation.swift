// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tells a thread that waits in vain from one whose partner was not let run: how long the process's threads stood in line for a processor.
///
/// On a machine with much else to do a thread may get a few milliseconds in ten seconds, and nothing is wrong with the library.
struct Starvation {
    private let start = nanoseconds()
    private let before = Self.waits()

    /// Whether some thread has been ready to run, and not running, for a quarter of the time since the start.
    var hasHappened: Bool {
        let quarter = (nanoseconds() - start) / 4
        return Self.waits().contains { thread, wait in wait - min(wait, before[thread] ?? 0) > quarter }
    }

    /// For each thread of the process, the nanoseconds that it has stood in line since it began.
    private static func waits() -> [String: UInt64] {
        guard let folder = unsafe opendir("/proc/self/task") else { return [:] }
        defer { unsafe closedir(folder) }
        var waits: [String: UInt64] = [:]
        // Safe: the entry is read before the next call.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            // "run wait slices"; a thread that has ended meanwhile has none.
            let fields = Line.first(of: "/proc/self/task/\(name)/schedstat").split(separator: " ")
            if fields.count > 1 { waits[name] = UInt64(fields[1]) }
        }
        return waits
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
