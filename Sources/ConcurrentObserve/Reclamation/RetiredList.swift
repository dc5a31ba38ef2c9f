// SPDX-License-Identifier: Apache-2.0

/// A list of retired items, linked through the items. So moving them from list to list needs no
/// memory.
///
/// It has one owner at a time. It is copyable only because elements of an array must be.
internal struct RetiredList {
    /// The addresses of the first item and of the last one, if there are any. The last item's link
    /// means nothing.
    private var (first, last): (UInt, UInt) = (0, 0)
    private(set) var count = 0

    /// Adds an item at the end. In most cases the last item is its predecessor on a thread's stack,
    /// so the link is already correct.
    mutating func append(_ item: RetiredItem) {
        let address = item.address
        if count == 0 {
            first = address
        } else {
            let last = RetiredItem(at: last)
            if last.link != address { last.link = address }
        }
        last = address
        count += 1
    }

    /// Adds all items of another list at the end. O(1).
    mutating func append(_ list: RetiredList) {
        if count == 0 {
            self = list
        } else if list.count > 0 {
            RetiredItem(at: last).link = list.first
            last = list.last
            count += list.count
        }
    }

    /// Removes the first item and returns it.
    mutating func popFirst() -> RetiredItem? {
        guard count > 0 else { return nil }
        let item = RetiredItem(at: first)
        first = item.link
        count -= 1
        return item
    }
}
