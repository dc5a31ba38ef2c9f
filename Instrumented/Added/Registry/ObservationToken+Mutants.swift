// SPDX-License-Identifier: Apache-2.0

extension ObservationToken {
    func outcomeWithoutWaiting() -> WaitOutcome? {
        if mutant(.aTasksWaitIsDeferred) { return .deferred }
        guard mutant(.aTaskDoesNotWait) else { return nil }
        observer.end(.cancelled)
        return .finished
    }

    var mustNotWaitWrongly: Bool? {
        if mutant(.cancelAndWaitIsDeferredEverywhere) { return true }
        return mutant(.cancelAndWaitInACallbackWaits) ? false : nil
    }
}

extension Observer {
    func waitsWrongly() -> Bool {
        if mutant(.cancelAndWaitWaitsForOthers) {
            Backoff.wait(for: "end of the callbacks") { FrameScan.hasCurrent(address) }
            let end = ContinuousClock.now + .milliseconds(5)
            while CallbackAges.shared.observe() != nil, ContinuousClock.now < end {}
            return true
        }
        return mutant(.cancelAndWaitDoesNotWait)
    }
}
