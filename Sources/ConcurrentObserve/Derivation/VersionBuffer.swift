// SPDX-License-Identifier: Apache-2.0

/// Versions, by index. One evaluation after the other uses this memory.
@safe internal struct VersionBuffer: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt64>
    private var capacity = 8

    init() { unsafe memory = .allocate(capacity: 8) }

    deinit { unsafe memory.deallocate() }

    /// Makes room for `count` versions.
    @inline(__always)
    mutating func reserve(_ count: Int) {
        if count > capacity { grow(count) }
    }

    @inline(never)
    private mutating func grow(_ count: Int) {
        let larger = max(count, 2 * capacity)
        let new = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
        // Safe: both have at least this capacity.
        unsafe new.update(from: memory, count: capacity)
        unsafe memory.deallocate()
        unsafe memory = unsafe new
        capacity = larger
    }

    var isLarge: Bool { capacity > 1_024 }

    /// Frees the memory if it is larger than most evaluations need.
    mutating func shrink() {
        guard isLarge else { return }
        unsafe memory.deallocate()
        unsafe memory = .allocate(capacity: 8)
        capacity = 8
    }

    /// - Precondition: The index is below the capacity.
    subscript(index: Int) -> UInt64 {
        @inline(__always) get {
            assert(index < capacity, "there is no room")
            // Safe: below the capacity.
            return unsafe memory[index]
        }
        @inline(__always) set {
            assert(index < capacity, "there is no room")
            unsafe memory[index] = newValue
        }
    }
}
