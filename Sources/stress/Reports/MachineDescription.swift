// SPDX-License-Identifier: Apache-2.0

import CPlatform
import Foundation
import Glibc

/// The machine and system that a result depends on.
struct MachineDescription: Codable, Sendable {
    let cores: Int
    let processor: String
    let kernel: String
    /// The file of liburcu, or the words that hazard pointers protect the lists of observers.
    let backend: String
    /// The form of the system's services: see the article "Portability".
    let platform: String
    let membarrier: Bool
    let clock: String
    let quota: String
    let sanitizer: String?
    let toolchain: String

    init() {
        cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        processor =
            Self.lines(of: "/proc/cpuinfo").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        kernel = Self.lines(of: "/proc/sys/kernel/osrelease").first ?? "unknown"
        backend =
            LibraryBuild.usesLiburcu
            ? Self.loadedLibrary("liburcu-bp") ?? "liburcu, linked statically" : "hazard pointers, without liburcu"
        platform = cplatform_is_portable() ? "portable form" : "the system's own form"
        membarrier = ConcurrentObserveDiagnostics.current().usesMembarrier
        clock = Self.lines(of: "/sys/devices/system/clocksource/clocksource0/current_clocksource").first ?? "unknown"
        quota = Self.lines(of: "/sys/fs/cgroup/cpu.max").first ?? "none"
        sanitizer = Sanitizer.current?.rawValue
        #if compiler(>=6.4)
        toolchain = "Swift 6.4 or later"
        #elseif compiler(>=6.3.2)
        toolchain = "Swift 6.3.2 or later"
        #elseif compiler(>=6.3.1)
        toolchain = "Swift 6.3.1"
        #elseif compiler(>=6.3)
        toolchain = "Swift 6.3"
        #else
        toolchain = "Swift 6.2"
        #endif
    }

    private static func lines(of path: String) -> [String] {
        // To the end: files of the kernel's have no size to read by.
        guard let data = FileHandle(forReadingAtPath: path)?.readDataToEndOfFile() else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The file that a library was loaded from, links followed: its name ends in the version of its
    /// interface.
    private static func loadedLibrary(_ name: String) -> String? {
        lines(of: "/proc/self/maps").first { $0.contains("/\(name)") }?.split(separator: " ").last.map(String.init)
    }
}
