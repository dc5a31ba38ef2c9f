// SPDX-License-Identifier: Apache-2.0

/// A first-in, first-out buffer, which recycles its memory. If the memory is large, it is freed
/// when the buffer becomes empty. Adding and removing an element take O(1), amortised.
@usableFromInline
internal struct RingBuffer<Element> {
    @usableFromInline var slots: ContiguousArray<Element?> = []
    @usableFromInline var head = 0
    @usableFromInline var count = 0

    /// The largest number of slots that an empty buffer keeps.
    @usableFromInline static var largestKept: Int { 1024 }

    @inlinable
    init() {}

    @inlinable
    var isEmpty: Bool { count == 0 }

    @inlinable
    mutating func append(_ element: consuming Element) {
        if count == slots.count { grow() }
        slots[(head &+ count) & (slots.count &- 1)] = element
        count &+= 1
    }

    @inlinable
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head &+ 1) & (slots.count &- 1)
        count &-= 1
        if count == 0, slots.count > Self.largestKept { (slots, head) = ([], 0) }
        return element
    }

    @inlinable
    var first: Element? { count > 0 ? slots[head] : nil }

    /// Changes the first element in place. The buffer must not be empty.
    @inlinable
    mutating func updateFirst(_ body: (inout Element) -> Void) { body(&slots[head]!) }

    /// Doubles the number of slots, which is a power of two.
    @inlinable @inline(never)
    mutating func grow() {
        var larger: ContiguousArray<Element?> = []
        let capacity = max(4, slots.count * 2)
        larger.reserveCapacity(capacity)
        for index in 0..<count { larger.append(slots[(head &+ index) & (slots.count &- 1)].take()) }
        for _ in count..<capacity { larger.append(nil) }
        slots = larger
        head = 0
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
