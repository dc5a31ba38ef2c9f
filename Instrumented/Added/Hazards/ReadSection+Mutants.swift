// SPDX-License-Identifier: Apache-2.0

extension HazardPointer {
    @usableFromInline
    borrowing func protectLate(_ table: UInt) -> UInt {
        ReadSection.leave()
        inject("walk.head")
        address.store(table, ordering: .relaxed)
        return table
    }
}
