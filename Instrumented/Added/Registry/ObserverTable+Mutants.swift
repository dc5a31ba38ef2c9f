// SPDX-License-Identifier: Apache-2.0

extension ObserverTable {
    func publishCountFirst() {
        // Safe: the table's own.
        unsafe contents.pointee.count.store(count + 1, ordering: .releasing)
    }

    func publishCountRelaxed() {
        // Safe: the table's own. Relaxed: that is the bug.
        unsafe contents.pointee.count.store(count, ordering: .relaxed)
    }

    func loseThird(_ observer: Observer) { if count == 3 { tombstoneLocked(observer) } }
}
