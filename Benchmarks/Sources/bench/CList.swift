// SPDX-License-Identifier: Apache-2.0

import CReference

/// The list of observers for the reference, in the form that the reference's loop reads.
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
