// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension DerivedObservation {
    /// Counts an observer that is about to be attached; false if the last one has ended: then there is another observation.
    func join() -> Bool {
        lock.withLock {
            // Relaxed, both: stored under the lock; the drain loop orders `starting`.
            if isOver.load(ordering: .relaxed) { return false }
            attached += 1
            starting.add(1, ordering: .relaxed)
            return true
        }
    }

    /// Sees to the end of an observer that was attached.
    func hasAttached(_ observer: Observer) {
        if !observer.atEnd({ [self] in observerHasEnded() }) { observerHasEnded() }
        // Keeps this, and the successor, until a thread may run user code. (P5)
        if observer.whenFinished({ [self] _ in leaveDerivedValue() }) != nil { leaveDerivedValue() }
    }

    /// With the last observer the links end before its `cancel()` returns, also inside a body and while another thread evaluates. (P24)
    func observerHasEnded() {
        endLinks {
            attached -= 1
            return attached == 0
        }
    }

    /// Ends the links. Any thread; runs no user code.
    ///
    /// - Parameter isLast: Whether to do so. Called under the lock.
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

    /// There is nothing to evaluate any more.
    func end() {
        endLinks { true }
    }

    func leaveDerivedValue() {
        // Relaxed: the end of the last observer comes before.
        guard isOver.load(ordering: .relaxed), let node = keeper.node else { return }
        node.forget(self)
    }
}

// MARK: - The source's end

extension DerivedObservation {
    /// The derived value is gone. (P12)
    func sourceIsGone() {
        releaseResults()
        end()
    }

    /// A source that a successor names is gone. If another thread uses the successor, the observers end when that has released it.
    func endSuccessor(_ node: consuming any DerivationNode) {
        _ = keeper.takeSuccessor()
        var last: AnyObject? = consume node
        guard isKnownUniquelyReferenced(&last) else { return }
        // No other thread has it, or can find it.
        (last as! any DerivationNode).endObservation()
        var objects = [last!]
        last = nil
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }

    /// Releases a derived value. If that is the last reference, elsewhere: the captures that go with it run user code. (P5)
    @inline(__always)
    func release(_ node: consuming any DerivationNode) {
        var last: AnyObject? = consume node
        guard isKnownUniquelyReferenced(&last) else { return }
        var objects = [last!]
        last = nil
        ThreadRecord.retire(DeferredAction(for: self, releasing: &objects))
    }
}
