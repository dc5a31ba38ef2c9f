// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The resident memory of the process.
package enum ResidentMemory {
    /// In bytes.
    package static var current: Int {
        let fields = Line.first(of: "/proc/self/statm").split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }

    /// Makes the allocator return what it keeps for later.
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

    /// True in the first round that asks: pools and allocator arenas, the harness's own included,
    /// are still being touched.
    package static var isWarmingUp: Bool { looks.add(1, ordering: .relaxed).oldValue == 0 }
}
