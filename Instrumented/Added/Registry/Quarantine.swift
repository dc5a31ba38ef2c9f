// SPDX-License-Identifier: Apache-2.0

// How `stress` catches a walker that uses a table which is free. The library that users build frees
// tables at once.
import Synchronization

extension Instrumentation {
    /// Walks that ended on a table which was free by then: a violation of the pinned read.
    public static var walksOnFreedTables: Int { Quarantine.shared.walksOnFreedTables.load(ordering: .relaxed) }

    /// Releases the tables that were kept. Call it while no thread walks.
    public static func emptyQuarantine() { Quarantine.shared.empty() }

    /// The address by which the backend of an exploration knows the observation's observer.
    public static func address(of token: ObservationToken) -> UInt { token.observer.address }
}

@inline(never) @usableFromInline
internal func checkWalkedTable(_ contents: UnsafePointer<TableContents>) {
    // Safe: while the quarantine is on, a freed table stays allocated for a while; off, nothing is
    // read.
    guard unsafe Instrumentation.quarantineLength > 0, unsafe contents.pointee.count.load(ordering: .relaxed) < 0 else {
        return
    }
    Quarantine.shared.walksOnFreedTables.add(1, ordering: .relaxed)
    unsafe Instrumentation.exploration?.didWalkFreedTable()
}

/// Keeps freed tables for a while, marked as free, instead of releasing them at once.
internal final class Quarantine: @unchecked Sendable {
    // Unchecked: `tables` is guarded by `lock`.
    static let shared = Quarantine()

    let walksOnFreedTables = Atomic<Int>(0)
    private let lock = Lock()
    private var tables: [ObserverTable] = []

    /// Takes a table in; returns one to release now, if any.
    func exchange(_ table: ObserverTable) -> ObserverTable? {
        unsafe table.contents.pointee.count.store(.min, ordering: .relaxed)
        return lock.withLock {
            tables.append(table)
            return unsafe tables.count > Instrumentation.quarantineLength ? tables.removeFirst() : nil
        }
    }

    func empty() {
        let kept = lock.withLock {
            defer { tables = [] }
            return tables
        }
        for table in kept { table.free() }
    }
}
