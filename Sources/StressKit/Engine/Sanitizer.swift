// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The sanitizer with which the command is built. It is detected by its runtime library.
package enum Sanitizer: String, CaseIterable {
    case thread
    case address
    case realtime

    package static let current: Sanitizer? = allCases.first { unsafe dlsym(nil, $0.symbol) != nil }

    /// The factor by which time limits are longer under the sanitizer.
    package static var slowdown: UInt64 { current == nil ? 1 : 20 }

    private var symbol: String {
        switch self {
        case .thread: "__tsan_init"
        case .address: "__asan_init"
        case .realtime: "__rtsan_init"
        }
    }
}
