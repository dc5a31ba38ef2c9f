// SPDX-License-Identifier: Apache-2.0

// A *link* is the observer at one root of a derived value: see `DerivationLink`. A *successor*
// takes the place of a derived value that the program has released: see `DerivationKeeper`.

import Synchronization

extension DerivedObservation {
    /// Counts an observer that is about to be attached. Returns false if the last observer has
    /// ended: then the caller makes another observation.
    func join() -> Bool {
        lock.withLock {
            // Relaxed: stored under the lock.
            if isOver.load(ordering: .relaxed) { return false }
            attached += 1
            return true
        }
    }

    /// Arranges that the end of an attached observer is counted.
    func hasAttached(_ observer: Observer) {
        if !observer.atEnd({ [self] in observerHasEnded() }) { observerHasEnded() }
        // The closure keeps this object and the successor until a thread that may run user code
        // calls it. (P5)
        if observer.whenFinished({ [self] _ in leaveDerivedValue() }) != nil { leaveDerivedValue() }
    }

    /// Counts the end of an observer. When the last observer ends, the links end before that
    /// observer's `cancel()` returns, also inside a body and while another thread evaluates. (P24)
    func observerHasEnded() {
        endLinks {
            attached -= 1
            return attached == 0
        }
    }

    /// Ends the links, if `isLast` returns true. Any thread may call it. It runs no user code.
    ///
    /// - Parameter isLast: Returns whether the last observer has ended. It is called under `lock`.
    private func endLinks(if isLast: () -> Bool) {
        let (ended, tokens) = lock.withLock { () -> ([UInt: DerivationLink], [ObservationToken]) in
            guard isLast() else { return ([:], []) }
            // Relaxed: stored under the lock.
            isOver.store(true, ordering: .relaxed)
            defer { (links, others) = ([:], []) }
            return (links, others)
        }
        withExtendedLifetime(tokens) {}
        Self.end(ended)
    }

    /// Ends the links, because there is nothing to evaluate any more.
    func end() {
        endLinks { true }
    }

    func leaveDerivedValue() {
        // Relaxed: the last observer has ended before it calls this function.
        guard isOver.load(ordering: .relaxed), let node = keeper.node else { return }
        node.lock.withLock { if node.observation === self { node.observation = nil } }
    }
}

// MARK: - The source's end

extension DerivedObservation {
    /// Ends the observation, because the derived value is gone. (P12)
    func sourceIsGone() {
        releaseResults()
        end()
    }

    /// Ends a successor, because a source that it names is gone. If another thread uses the
    /// successor, the observers end when that thread has released it.
    func endSuccessor(_ node: consuming DerivationNode) {
        _ = keeper.takeSuccessor()
        // No other thread has it, or can get a reference to it.
        release(node) { $0.observation?.sourceIsGone() }
    }

    /// Releases a reference to a derived value. A thread of the library releases the last
    /// reference, because destroying the function's captures runs user code. (P5)
    ///
    /// - Parameter isLast: Called before the release, if this is the last reference.
    @inline(__always)
    func release(_ node: consuming DerivationNode, ifLast isLast: (DerivationNode) -> Void = { _ in }) {
        var last: DerivationNode? = consume node
        guard isKnownUniquelyReferenced(&last) else { return }
        isLast(last!)
        var objects: [AnyObject] = [last!]
        last = nil
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }
}
