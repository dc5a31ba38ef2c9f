// SPDX-License-Identifier: Apache-2.0

/// A slot in which threads find objects and replace them.
final class Place<Content: Sendable>: Sendable {
    private let guarded = Guarded<Content?>(nil)

    var content: Content? { guarded.withLock { $0 } }

    /// Stores `content`, and returns the previous content. The caller releases it, outside the
    /// lock.
    func exchange(_ content: Content?) -> Content? {
        guarded.withLock { present in
            defer { present = content }
            return present
        }
    }
}
