// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures the processor time that threads of this process have used, by their names.
enum ThreadTime {
    /// Returns the processor time of all threads with this name. Returns NaN if there is none, or
    /// if the kernel does not count it.
    static func nanoseconds(of name: String) -> Double {
        let folder = URL(filePath: "/proc/self/task")
        let threads = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let times = threads.compactMap { thread -> Double? in
            guard text(thread, "comm")?.dropLast() == name[...] else { return nil }
            return text(thread, "schedstat")?.split(separator: " ").first.flatMap { Double($0) }
        }
        return times.isEmpty ? .nan : times.reduce(0, +)
    }

    private static func text(_ thread: URL, _ file: String) -> String? {
        try? String(contentsOf: thread.appending(path: file), encoding: .utf8)
    }
}
