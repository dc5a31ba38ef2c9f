// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The machine and the system on which a result depends.
package struct MachineDescription: Codable, Sendable {
    package let cores: Int
    package let processor: String
    package let kernel: String
    package let clock: String
    package let quota: String
    package let sanitizer: String?
    package let toolchain: String
    /// The facts that the library under test reports about itself.
    package let library: [Fact]

    package struct Fact: Codable, Sendable {
        package let name: String
        package let text: String

        package init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
    }

    package init(_ facts: [Fact] = []) {
        library = facts
        cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        processor =
            Self.lines(of: "/proc/cpuinfo").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        kernel = Self.lines(of: "/proc/sys/kernel/osrelease").first ?? "unknown"
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

    /// All facts as text for people.
    package var facts: [Fact] {
        [
            Fact("toolchain", toolchain), Fact("processor", "\(cores) × \(processor)"),
            Fact("cpu quota", quota.hasPrefix("max") ? "none" : quota), Fact("kernel", kernel),
        ] + library + [Fact("clock", clock), Fact("sanitizer", sanitizer ?? "none")]
    }

    private static func lines(of path: String) -> [String] {
        // Read to the end: files of the kernel do not say their size.
        guard let data = FileHandle(forReadingAtPath: path)?.readDataToEndOfFile() else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the path of the file from which a library was loaded. Links are followed, so the
    /// name ends in the version of the library's interface.
    package static func loadedLibrary(_ name: String) -> String? {
        lines(of: "/proc/self/maps").first { $0.contains("/\(name)") }?.split(separator: " ").last.map(String.init)
    }
}
