// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The sanitizer that the command is built with, found by its runtime.
package enum Sanitizer: String, CaseIterable {
    case thread
    case address
    case realtime

    package static let current: Sanitizer? = allCases.first { unsafe dlsym(nil, $0.symbol) != nil }

    /// How much longer everything may take under it.
    package static var slowdown: UInt64 { current == nil ? 1 : 20 }

    private var symbol: String {
        switch self {
        case .thread: "__tsan_init"
        case .address: "__asan_init"
        case .realtime: "__rtsan_init"
        }
    }
}
