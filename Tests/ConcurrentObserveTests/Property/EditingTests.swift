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

    @Test("An array comes to the edit and to observers as it is: only the edit copies it", arguments: [false, true])
    func array(isModified: Bool) {
        let property = Observed(Array(0..<100))
        let received = Log<UInt>()
        let token = property.observe { change in
            received.append(address(change.old!))
            received.append(address(change.new))
        }
        let before = address(property.value)
        let edit = isModified ? property.modify { $0.edit() } : property.value.edit()
        #expect(edit.before == before)
        #expect(address(property.value) == edit.after)
        #expect(received.entries == [before, edit.after])
        #expect(property.value[..<2] == [-1, -2])
        withExtendedLifetime(token) {}
    }
}

/// Returns the address of an array's elements.
private func address(_ array: [Int]) -> UInt {
    // Safe: compared, not followed.
    unsafe array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
}

extension [Int] {
    /// Changes two elements, the second one in place. Returns the address of the elements before
    /// and afterwards.
    fileprivate mutating func edit() -> (before: UInt, after: UInt) {
        let before = address(self)
        self[0] = -1
        let after = address(self)
        self[1] = -2
        #expect(after != before && address(self) == after)
        return (before, after)
    }
}

/// A collection that copies its storage if another value shares it, and counts these copies.
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
