// SPDX-License-Identifier: Apache-2.0

/// Replaced tables, on their way from the lock to their retirement. They are linked through
/// themselves.
internal struct RetiredTables {
    private var list = RetiredList()

    init() {}

    mutating func add(_ table: ObserverTable?) {
        guard let table else { return }
        // Safe: the reference belongs to the list.
        let reference = unsafe Unmanaged<Retirable>.passRetained(table)
        unsafe list.append(RetiredItem(at: UInt(bitPattern: reference.toOpaque())))
    }

    /// Retires the tables. The caller must hold no lock.
    mutating func retire() { while let item = list.popFirst() { ThreadRecord.retire(item.take()) } }
}
