// SPDX-License-Identifier: Apache-2.0

import CReference

/// The reference's list of observers, published as the reference's loop reads it.
final class CList {
    private let head: UnsafeMutablePointer<UnsafeMutablePointer<creference_list>>

    init(_ list: UnsafeMutablePointer<creference_list>) {
        head = .allocate(capacity: 1)
        head.initialize(to: list)
    }

    deinit {
        creference_list_free(head.pointee)
        head.deallocate()
    }

    func notify(_ events: Int) { creference_notify_repeatedly(head, events) }
}
