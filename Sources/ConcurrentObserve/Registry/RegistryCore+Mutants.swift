// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Synchronization

extension RegistryCore {
    /// Takes the table away before the next is there.
    func takeTableAway() { unsafe head?.pointee.store(0, ordering: .releasing) }
}

extension ObserverList {
    /// Ends every second observation first.
    borrowing func endHalf(_ core: RegistryCore, _ reason: ObservationEnd) {
        core.removeAll(reason) { $0.index.isMultiple(of: 2) }
        inject("end.unlinked")
    }
}
#endif
