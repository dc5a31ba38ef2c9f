// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

@Suite("Editing a collection")
struct EditingTests {
    @Test("An edit through the value copies a collection once, and so does modify")
    func copies() {
        let property = Observed(Items())
        let copies = Counter()
        property.value.append(1, copies)
        #expect(copies.value == 1)
        property.modify { $0.append(2, copies) }
        #expect(copies.value == 2)
        // In the body the value is the body's own.
        property.modify {
            $0.append(3, copies)
            $0.append(4, copies)
        }
        #expect(copies.value == 3)
        #expect(property.value.items == [1, 2, 3, 4])
    }
}

/// A collection that copies its storage when another value shares it, and counts that.
private struct Items: Sendable {
    private final class Storage: @unchecked Sendable {
        // Unchecked: changed by the only value that has it.
        var items: [Int]

        init(_ items: [Int]) { self.items = items }
    }

    private var storage = Storage([])

    var items: [Int] { storage.items }

    mutating func append(_ item: Int, _ copies: Counter) {
        if !isKnownUniquelyReferenced(&storage) {
            storage = Storage(storage.items)
            copies.increment()
        }
        storage.items.append(item)
    }
}
