// SPDX-License-Identifier: Apache-2.0

/// What `cancelAndWait()` has achieved when it returns.
public enum CancellationOutcome: Sendable, Equatable {
    /// No callback of the observation is running, none will ever begin, and its closure is
    /// destroyed.
    case finished
    /// The call came from inside a callback, where waiting can deadlock: the same is reached when
    /// the callbacks that are running have returned. `onEnd` reports it.
    case deferred
}

extension ObservationToken {
    /// Ends the observation and blocks the thread until its callbacks have returned and its closure
    /// is destroyed. For synchronous code; otherwise `await token.cancelAndWait()`. (P9)
    ///
    /// It waits for this observation alone: callbacks of others, however long they block, do not
    /// delay it. The closure, and what it alone keeps alive, is destroyed on the calling thread,
    /// or, if another thread has ended the observation before, by then elsewhere. Do not call it
    /// while holding a lock that the callback takes.
    ///
    /// - Returns: `.finished`; inside a callback `.deferred`, at once.
    /// - Complexity: O(threads), plus the wait.
    @available(*, noasync, message: "write await token.cancelAndWait()")
    @discardableResult
    public func cancelAndWaitBlocking() -> CancellationOutcome {
        if mustNotWait {
            observer.end(.cancelled)
            return .deferred
        }
        if observer.endWithoutRetiring(.cancelled) {
            observer.finishAfterCallbacks()
        } else {
            // Another thread has ended it, and the reclamation thread may be pausing; after a fork
            // it may not be running yet.
            ReclamationThread.shared.wait(for: "end of the observation") { observer.isFinished }
        }
        return .finished
    }

    /// Ends the observation and suspends until its callbacks have returned and its closure is
    /// destroyed. (P9)
    ///
    /// As the blocking form, but the waiting thread is free meanwhile, and inside a callback too it
    /// suspends until the end. Cancelling the waiting task does not cut it short.
    ///
    /// - Returns: `.finished`.
    @discardableResult
    public func cancelAndWait() async -> CancellationOutcome {
        if beginWaiting() { return .finished }
        // The system may have no thread for the library at the moment, and nothing else may ask for
        // one.
        while mustAskAgain {
            // A task of its own: the cancellation of the task that waits must not make this a
            // busy loop.
            await Task { try? await Task.sleep(for: .milliseconds(2)) }.value
        }
        await withCheckedContinuation { continuation in
            if observer.whenFinished({ _ in continuation.resume() }) != nil { continuation.resume() }
        }
        return .finished
    }

    /// Whether waiting here can deadlock.
    private var mustNotWait: Bool {
        return ThreadRecord.isInsideCallback
    }

    /// Whether the end waits for a thread that the library does not have yet.
    private var mustAskAgain: Bool {
        let asks = !observer.isFinished && !ReclamationThread.wake(urgently: true)
        return asks
    }

    /// Ends the observation. True if that was all: no callback was running, and the closure is
    /// destroyed.
    private func beginWaiting() -> Bool {
        guard observer.endWithoutRetiring(.cancelled) else { return observer.isFinished }
        if !ThreadRecord.isInsideCallback, observer.finishUnlessRunning() { return true }
        ThreadRecord.retire(observer.retirement)
        return false
    }
}

extension Observer {
    /// Waits until no frame has the observer as current, then destroys the closure. Outside
    /// callbacks, on the thread that has ended the observation.
    fileprivate func finishAfterCallbacks() {
        // The mark was cleared before: a walker whose `current` the loop does not see will see the
        // mark.
        barrierBeforeScan()
        waitForCallbacks()
        finishOnThisThread()
    }

    private func barrierBeforeScan() {
        AsymmetricBarrier.heavy()
    }

    private func waitForCallbacks() {
        Backoff.wait(for: "end of the callbacks") { FrameScan.hasCurrent(address) }
    }

    /// Destroys the closure without a wait: false, and nothing done, if a callback may be running.
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
