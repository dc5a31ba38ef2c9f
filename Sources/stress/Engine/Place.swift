// SPDX-License-Identifier: Apache-2.0

/// Where threads find and replace what they fight over.
final class Place<Content: Sendable>: Sendable {
    private let guarded = Guarded<Content?>(nil)

    var content: Content? { guarded.withLock { $0 } }

    /// Puts `content` there and returns what was there: it is released by the caller, outside the
    /// lock.
    func exchange(_ content: Content?) -> Content? {
        guarded.withLock { present in
            defer { present = content }
            return present
        }
    }
}
