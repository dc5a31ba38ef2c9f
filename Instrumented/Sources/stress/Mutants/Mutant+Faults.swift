// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs that only a fault shows: a fork, a failing barrier, a thread that does not start or exits, a deinitialiser that blocks.
    static let underFaults: [Mutant] = [
        Mutant(.aForkKeepsForeignFrames, "forking", [.invariant("P18.child-goes-on")]),
        Mutant(.aForkReusesEveryRecord, "forking", [.invariant("P18.child-receives")]),
        Mutant(.aForkTrustsForeignCounts, "forking", [.invariant("P18.child-counts")], at: "retire.counted"),
        Mutant(.aDeliveryIsDropped, "forking", [.invariant("P18.child-receives")]),
        Mutant(.aForkIsNotWoken, "forking", [.hang]),
        Mutant(
            .aChildTouchesASourceOnALostStack,
            "forking-sources",
            [.invariant("P18.child-stacks"), .invariant("P18.child-goes-on")]
        ),
        Mutant(.aForkForgetsItsOwnThreadsItem, "forking-sources", [.invariant("P18.child-finishes")]),
        // Where children come one at a time, a busy machine makes few of them.
        Mutant(
            .aForkTrustsForeignCounts,
            "registration-churn",
            [.invariant("P18.child-counts")],
            at: "retire.counted",
            faults: .fork,
            .seconds(40)
        ),
        Mutant(
            .aForkReusesEveryRecord,
            "registration-churn",
            [.invariant("P18.child-goes-on")],
            faults: .fork,
            .seconds(40)
        ),
        Mutant(
            .aThreadThatExitsInsideACallbackIsNotNoticed,
            "registration-churn",
            [.invariant("P17.new-thread")],
            faults: .fork,
            .seconds(40)
        ),
        Mutant(
            .aBlockedSourcesThreadsDoNotPause,
            "cancellation-flood",
            [.invariant("P16.backlog-bounded")],
            faults: .stuckDeinit,
            .seconds(60)
        ),
        Mutant(
            .aWaiterAsksOnceForAThread,
            "registration-churn",
            [.invariant("P18.child-goes-on")],
            faults: .fork,
            .seconds(30)
        ),
        Mutant(.aFailingBarrierIsNotRepeated, "cancellation-races", [.crash], faults: .failBarrier),
        Mutant(
            .aFailingBarrierIsIgnored,
            "cancellation-races",
            [.invariant("P9.barrier-repeated")],
            faults: .failBarrier
        ),
    ]
}
