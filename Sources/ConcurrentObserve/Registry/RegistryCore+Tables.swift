// SPDX-License-Identifier: Apache-2.0

// The current tables of a source's lists. Under the lock, all of these.
extension RegistryCore {
    /// The current table of a list, which is made with the first observer.
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

    /// Visits the tables, which `body` may replace.
    func forEachTable(_ body: (ObserverListIndex, ObserverTable) -> Void) {
        if let firstTable { body(.first, firstTable) }
        if let secondTable { body(.second, secondTable) }
        if let thirdTable { body(.third, thirdTable) }
    }

    /// The number of live observations.
    var live: Int { (firstTable?.live ?? 0) + (secondTable?.live ?? 0) + (thirdTable?.live ?? 0) }

    /// Visits the observers whose observations have not ended.
    func forEachLive(_ body: (Observer) -> Void) { forEachTable { $1.forEachLive(body) } }

    /// Visits the entries.
    func forEachEntry(_ body: (borrowing TableEntry) -> Void) { forEachTable { $1.forEachEntry(body) } }
}
