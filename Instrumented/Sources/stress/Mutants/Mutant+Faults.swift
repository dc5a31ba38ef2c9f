// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs that only a fault shows: a fork, a failing barrier, a deinitialiser that blocks.
    static let underFaults: [Mutant] = [
        Mutant(.aForkedChildDoesNotTrap, "forking", ["P18.child-traps"]),
        Mutant(.aForkedChildTakesALockToRead, "forking", ["P18.child-reads"]),
        Mutant(.aChildEndsItsParentsObservations, "forking", ["P18.child-reads"]),
        Mutant(
            .aReadInsideACallTakesALock,
            "notification-storm",
            ["P18.child-reads"],
            at: "walk.called",
            faults: .fork
        ),
        Mutant(
            .aBlockedSourcesThreadsDoNotPause,
            "cancellation-flood",
            ["P16.backlog-bounded"],
            faults: .stuckDeinit,
            .seconds(60)
        ),
        Mutant(.aFailingBarrierIsNotRepeated, "cancellation-races", [.crash], faults: .failBarrier),
        Mutant(.aFailingBarrierIsIgnored, "cancellation-races", ["P9.barrier-repeated"], faults: .failBarrier),
    ]
}
