// SPDX-License-Identifier: Apache-2.0

import DepotExplored
import ExplorerKit
import Synchronization
import Testing

@Test func noSlotHasTwoHolders() throws {
    try explore(.preemptions(2)) { run in
        let pool = SlotPool(count: 3)
        let held = Mutex<Set<Int>>([])
        let take: @Sendable () -> Int? = {
            guard let slot = pool.take() else { return nil }
            run.check(held.withLock { $0.insert(slot).inserted }, "slot \(slot) has two holders")
            return slot
        }
        run.thread("take") { _ = take() }
        run.thread("take, take, give") {
            guard let first = take() else { return }
            _ = take()
            _ = held.withLock { $0.remove(first) }
            pool.give(first)
        }
        run.finally {
            while take() != nil {}
            run.check(held.withLock { $0.count } == 3, "a slot is lost")
        }
    }
}
