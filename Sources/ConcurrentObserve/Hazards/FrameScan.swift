// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The addresses that the hazard pointers of all threads hold at the moment of the scan.
internal struct FrameScan {
    /// The number of thread records that the scan has read.
    private(set) var recordCount = 0
    private var pins: [UInt] = []
    private var currents: [UInt] = []

    /// Reads every hazard pointer in use.
    ///
    /// The caller must first execute the barrier that makes the stores to the hazard pointers
    /// visible: a grace period for pins of tables, `AsymmetricBarrier.heavy()` for pins of values
    /// and for current observers.
    init() {
        func note(_ address: UInt, in list: inout [UInt]) { if address != 0 { list.append(address) } }
        // Safe, all: records and frames are never freed.
        unsafe ThreadRecords.shared.forEach { record in
            recordCount += 1
            unsafe note(record.pointee.copyPin.scanned, in: &pins)
            unsafe record.forEachFrame { frame in
                unsafe note(frame.pointee.pin.scanned, in: &pins)
                unsafe note(frame.pointee.current.scanned, in: &currents)
            }
        }
        pins.sort()
        currents.sort()
    }

    /// Whether the scan has seen a running callback in any frame.
    var hasCurrents: Bool { !currents.isEmpty }

    /// Whether some thread pins `address`.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of frames in use.
    func isPinned(_ address: UInt) -> Bool { pins.containsSorted(address) }

    /// Whether some frame has `address` as its current observer.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of frames in use.
    func isCurrent(_ address: UInt) -> Bool { currents.containsSorted(address) }

    /// Whether any frame has `address` as its current observer now. The call allocates nothing. The
    /// caller must first execute the heavy barrier.
    static func hasCurrent(_ address: UInt) -> Bool {
        var found = false
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forEachFrame { frame in
                if unsafe frame.pointee.current.scanned == address { found = true }
            }
        }
        return found
    }
}

extension [UInt] {
    /// Whether the array, which is sorted, contains `element`.
    ///
    /// - Complexity: O(log *n*).
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
