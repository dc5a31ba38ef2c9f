// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension RegistryCore {
    /// Takes the table away before the next is there.
    func takeTableAway(of list: ObserverListIndex) {
        let head = unsafe list == .callbacks ? head : furtherHead(of: list)
        unsafe head?.pointee.store(0, ordering: .releasing)
    }
}

extension RegistryCore {
    /// Ends every second observation first.
    func cancelInTwoSteps() {
        removeAll { $0.index.isMultiple(of: 2) ? .cancelled : nil }
        inject("end.unlinked")
        removeAll { _ in .cancelled }
    }

    /// Whether the closures of a source that is gone are never destroyed.
    var leaksWithSource: Bool {
        mutant(.sourceDeathLeaksTheClosures) && lock.withLock { unsafe head == nil }
    }
}
