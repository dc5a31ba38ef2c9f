// SPDX-License-Identifier: Apache-2.0

// The current tables of a source's lists. The caller of each of these must hold the lock.
extension RegistryCore {
    /// The current table of a list. It is made with the first observer.
    @inline(__always)
    func table(of list: ObserverListIndex) -> ObserverTable? {
        switch list {
        case .first: firstTable
        case .second: secondTable
        case .third: thirdTable
        }
    }

    func setTable(of list: ObserverListIndex, to table: ObserverTable?) {
        switch list {
        case .first: firstTable = table
        case .second: secondTable = table
        case .third: thirdTable = table
        }
    }

    /// Calls `body` with each table. `body` may replace the table.
    func forEachTable(_ body: (ObserverListIndex, ObserverTable) -> Void) {
        if let firstTable { body(.first, firstTable) }
        if let secondTable { body(.second, secondTable) }
        if let thirdTable { body(.third, thirdTable) }
    }

    /// The number of live observations.
    var live: Int { (firstTable?.live ?? 0) + (secondTable?.live ?? 0) + (thirdTable?.live ?? 0) }

    /// Calls `body` with the observers whose observations have not ended.
    func forEachLive(_ body: (Observer) -> Void) { forEachTable { $1.forEachLive(body) } }

    /// Calls `body` with every entry.
    func forEachEntry(_ body: (borrowing TableEntry) -> Void) { forEachTable { $1.forEachEntry(body) } }
}
