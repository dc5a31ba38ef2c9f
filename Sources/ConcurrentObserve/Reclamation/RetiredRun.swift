// SPDX-License-Identifier: Apache-2.0

/// Retired items of one batch and one source, which the deinit threads reclaim: first the linked
/// items, then the references.
internal struct RetiredRun {
    private var items = RetiredList()
    private var references: [UInt] = []
    /// The index of the first reference that was not taken out.
    private var index = 0
    let batch: Batch
    let source: UInt

    init(items: RetiredList = RetiredList(), batch: Batch, source: UInt) {
        (self.items, self.batch, self.source) = (items, batch, source)
    }

    var count: Int { items.count + references.count - index }

    mutating func append(_ item: RetiredItem) {
        if let reference = item.bareReference { references.append(reference) } else { items.append(item) }
    }

    /// Adds all items of another run of the same batch and source at the end.
    mutating func append(_ run: RetiredRun) {
        items.append(run.items)
        references.append(contentsOf: run.references[run.index...])
    }

    /// Takes an item out. O(1).
    mutating func popFirst() -> RetiredItem? {
        if let item = items.popFirst() { return item }
        guard index < references.count else { return nil }
        defer { index += 1 }
        return RetiredItem(reference: references[index])
    }
}
