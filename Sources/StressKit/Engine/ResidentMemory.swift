// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The resident memory of the process.
package enum ResidentMemory {
    /// The resident memory in bytes.
    package static var current: Int {
        let fields = Line.first(of: "/proc/self/statm").split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }

    /// Makes the allocator return free memory to the system.
    package static func giveBack() {
        // Glibc's module leaves the function out.
        typealias Trim = @convention(c) (Int) -> CInt
        // Safe: the signature matches malloc_trim(3).
        guard let trim = unsafe dlsym(nil, "malloc_trim").map({ unsafe unsafeBitCast($0, to: Trim.self) }) else {
            return
        }
        _ = trim(0)
    }

    private static let looks = Atomic<Int>(0)

    /// True for the first round that asks: pools and arenas of the allocator, also the harness's
    /// own, still grow in this round.
    package static var isWarmingUp: Bool { looks.add(1, ordering: .relaxed).oldValue == 0 }
}
