// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The addresses that the frames of all threads hold at the moment of the scan.
internal struct FrameScan {
    /// The number of records.
    private(set) var recordCount = 0
    private var pins: [UInt] = []
    private var currents: [UInt] = []

    /// Reads every frame in use.
    ///
    /// Call it after the barrier that makes the relevant stores for the items visible: a grace
    /// period for pins of tables, `AsymmetricBarrier.heavy()` for pins of values and for current
    /// observers.
    init() {
        unsafe ThreadRecords.shared.forEach { record in
            recordCount += 1
            unsafe record.forEachFrame { frame in
                // Acquire, both: pair with the releases at the end of a pass; the work of the pass
                // happens before the reclaiming.
                let pin = unsafe frame.pointee.pin.load(ordering: .acquiring)
                let current = unsafe frame.pointee.current.load(ordering: .acquiring)
                if pin != 0 { pins.append(pin) }
                if current != 0 { currents.append(current) }
            }
        }
        pins.sort()
        currents.sort()
    }

    /// Whether the scan has seen a running callback in any frame.
    var holdsObservers: Bool { !currents.isEmpty }

    /// Whether some frame pins `address`.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of frames in use.
    func isPinned(_ address: UInt) -> Bool { pins.containsSorted(address) }

    /// Whether some frame has `address` as its current observer.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of frames in use.
    func isCurrent(_ address: UInt) -> Bool { currents.containsSorted(address) }

    /// Whether any frame has `address` as its current observer. Allocates nothing.
    static func hasCurrent(_ address: UInt) -> Bool {
        var found = false
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forEachFrame { frame in
                // Acquire: pairs with the release that ends the callback.
                if unsafe frame.pointee.current.load(ordering: .acquiring) == address { found = true }
            }
        }
        return found
    }
}

extension [UInt] {
    /// Binary search. - Complexity: O(log *n*).
    fileprivate func containsSorted(_ element: UInt) -> Bool {
        var range = startIndex..<endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if self[middle] == element { return true }
            range = self[middle] < element ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return false
    }
}
