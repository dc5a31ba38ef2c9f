// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

extension ObservationToken {
    /// Ends the observation and blocks the thread until its callbacks have returned and its closure
    /// is destroyed. Use it in synchronous code; elsewhere write `await token.cancelAndWait()`.
    /// (P9)
    ///
    /// It waits only for this observation. Callbacks of other observations do not delay it, however
    /// long they block. The closure, and the objects that only it retains, are destroyed on the
    /// calling thread. If another thread has ended the observation before, they are destroyed on
    /// another thread before the return. The caller must not hold a lock that the callback takes.
    ///
    /// - Returns: `.finished`. Inside a callback the call does not wait, and returns `.deferred`.
    /// - Complexity: O(threads), plus the wait.
    @available(*, noasync, message: "write await token.cancelAndWait()")
    @discardableResult
    public func cancelAndWaitBlocking() -> WaitOutcome {
        if ThreadRecord.isInsideCallback {
            observer.end(.cancelled)
            return .deferred
        }
        if observer.endWithoutRetiring(.cancelled) {
            observer.finishAfterCallbacks()
        } else {
            // Another thread has ended it. The reclamation thread may be pausing.
            ReclamationThread.shared.wait(for: "end of the observation") { observer.isFinished }
        }
        return .finished
    }

    /// Ends the observation and suspends the task until its callbacks have returned and its closure
    /// is destroyed. (P9)
    ///
    /// The thread is free during the suspension. The call also suspends if it is made inside a
    /// callback. Cancelling the waiting task does not shorten the wait.
    ///
    /// - Returns: `.finished`.
    @discardableResult
    public func cancelAndWait() async -> WaitOutcome {
        if beginWaiting() { return .finished }
        // If the system cannot start a thread for the library now, this task must ask again,
        // because no other thread may do so.
        while mustAskAgain {
            // Another task sleeps: if the waiting task is cancelled, a sleep of its own would
            // return at once, and this would be a busy loop.
            await Task { try? await Task.sleep(for: .milliseconds(2)) }.value
        }
        await withCheckedContinuation { continuation in
            if observer.whenFinished({ _ in continuation.resume() }) != nil { continuation.resume() }
        }
        return .finished
    }

    /// Whether the observation has not finished, and the system cannot start the thread that the
    /// library needs to finish it.
    private var mustAskAgain: Bool {
        !observer.isFinished && !ReclamationThread.wake(urgently: true)
    }

    /// Ends the observation. Returns true if nothing is left to wait for: no callback was running,
    /// and the closure is destroyed.
    private func beginWaiting() -> Bool {
        guard observer.endWithoutRetiring(.cancelled) else { return observer.isFinished }
        if !ThreadRecord.isInsideCallback, observer.finishUnlessRunning() { return true }
        ThreadRecord.retire(observer.retirement)
        return false
    }
}

extension Observer {
    /// Waits until no frame names the observer in `current`, then destroys the closure. Called
    /// outside callbacks, on the thread that has ended the observation.
    fileprivate func finishAfterCallbacks() {
        // The mark was cleared before the barrier. If the loop does not see the `current` of a
        // walker, that walker sees the mark cleared.
        AsymmetricBarrier.heavy()
        Backoff.wait(for: "end of the callbacks") { FrameScan.hasCurrent(address) }
        finishOnThisThread()
    }

    /// Destroys the closure and returns true, unless a callback may be running: then it does
    /// nothing and returns false. Never waits.
    func finishUnlessRunning() -> Bool {
        AsymmetricBarrier.heavy()
        if FrameScan.hasCurrent(address) { return false }
        finishOnThisThread()
        return true
    }

    private func finishOnThisThread() {
        ThreadRecord.withUserCode { finish() }
        forgoRetirement()
    }
}
