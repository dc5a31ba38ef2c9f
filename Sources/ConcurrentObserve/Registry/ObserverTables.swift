// SPDX-License-Identifier: Apache-2.0

/// The current tables of a source's lists. Guarded by the core's lock.
internal struct ObserverTables {
    private var first: ObserverTable?
    private var second: ObserverTable?
    private var third: ObserverTable?

    init() {}

    subscript(_ list: ObserverListIndex) -> ObserverTable? {
        @inline(__always) get {
            switch list {
            case .first: first
            case .second: second
            case .third: third
            }
        }
        set {
            switch list {
            case .first: first = newValue
            case .second: second = newValue
            case .third: third = newValue
            }
        }
    }

    /// Visits the tables.
    func forEach(_ body: (ObserverListIndex, ObserverTable) -> Void) {
        if let first { body(.first, first) }
        if let second { body(.second, second) }
        if let third { body(.third, third) }
    }

    /// The number of live observations.
    var live: Int { (first?.live ?? 0) + (second?.live ?? 0) + (third?.live ?? 0) }

    /// Visits the observers whose observations have not ended.
    func forEachLive(_ body: (Observer) -> Void) {
        first?.forEachLive(body)
        second?.forEachLive(body)
        third?.forEachLive(body)
    }

    /// Visits the entries.
    func forEachEntry(_ body: (borrowing TableEntry) -> Void) {
        first?.forEachEntry(body)
        second?.forEachEntry(body)
        third?.forEachEntry(body)
    }
}

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
