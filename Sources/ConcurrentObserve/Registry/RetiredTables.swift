// SPDX-License-Identifier: Apache-2.0

/// Tables that were replaced, on their way from the lock to where they are retired: linked through
/// themselves.
internal struct RetiredTables {
    private var list = RetiredList()

    init() {}

    mutating func add(_ table: ObserverTable?) {
        guard let table else { return }
        // Safe: the reference is the list's.
        let reference = unsafe Unmanaged<Retirable>.passRetained(table)
        unsafe list.append(RetiredItem(at: UInt(bitPattern: reference.toOpaque())))
    }

    /// Retires the tables. Under no lock.
    mutating func retire() { while let item = list.popFirst() { ThreadRecord.retire(item.take()) } }
}
