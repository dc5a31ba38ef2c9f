// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What one pass over a table, on one thread, is using at the moment. Written by its thread, read by every scan.
///
/// A nested pass has a frame of its own; outer frames keep counting.
@usableFromInline
internal struct Frame: ~Copyable {
    /// The address of the table that the pass walks, or 0. It stays allocated while it stands here.
    @usableFromInline let pin: Atomic<UInt>

    /// The address of the observer that the pass may be calling, or 0. Its closure stays alive while it stands here.
    @usableFromInline let current: Atomic<UInt>

    /// How many passes have used this frame: tells a long callback from many short ones. Wraps harmlessly.
    @usableFromInline let passes: Atomic<UInt>

    /// Fills the frame to 32 bytes, so that a cache line holds two and an index is a shift.
    private let padding: UInt = 0

    init() {
        pin = Atomic(0)
        current = Atomic(0)
        passes = Atomic(0)
    }
}
