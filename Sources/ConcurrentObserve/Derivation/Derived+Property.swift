// SPDX-License-Identifier: Apache-2.0

extension Derived: ObservableProperty {
    /// The present value. Any thread; evaluates the function if a source has changed, and waits for no other thread. Under no lock. (P22)
    ///
    /// - Complexity: O(roots) if no source has changed.
    public var value: Value { validValue ?? evaluation().value }

    /// The value if the present evaluation is current. Counts no reference.
    private var validValue: Value? {
        cell.withRecord { record in isCurrent(record) ? record.of(Value.self).value : nil }
    }

    /// How often the value has changed, beginning with 0 at the first evaluation. Evaluates as `value` does. (P2)
    public var version: UInt64 { evaluation().version }

    /// The present value and its version, which belong together. Evaluates as `value` does.
    public func snapshot() -> (value: Value, version: UInt64) {
        let evaluation = evaluation()
        return (evaluation.value, evaluation.version)
    }

    /// Begins an observation of the results. Evaluates the function if a source has changed since it last ran; from then on each change of what it
    /// read last evaluates it. (P1, P4, P24)
    ///
    /// A change is delivered on a thread that has changed a source. `.prior` is not delivered: the value is not known before the change.
    ///
    /// - Complexity: O(roots).
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        let observation = beginObserving()
        // Before the observer is there: it links what is read, so that no change from now on is missed.
        observation.settle(becauseOf: nil)
        let token = observation.attach(observer)
        lock.withLock { observation.starting -= 1 }
        let end = token.observer.whenFinished { [weak self] _ in self?.endObserving(observation) }
        if end != nil { endObserving(observation) }
        return token
    }

    /// Begins observations for as long as the derived value lives. (P11)
    public var weakAttachment: WeakAttachment<Value> { { [weak self] observer in self?.attach(observer) } }
}

extension Derived: DerivationSource {
    func read(into collector: Collector) -> Value {
        let evaluation = evaluation()
        collector.note(self, evaluation)
        return evaluation.value
    }
}

// MARK: - Observing

extension Derived {
    /// What there is while the value is observed; made for the first observer.
    private func beginObserving() -> DerivedObservation<Value> {
        while true {
            let evaluation = evaluation()
            let new = DerivedObservation(of: self, evaluation)
            let observation = lock.withLock { () -> DerivedObservation<Value>? in
                // A new one begins with the evaluation that is there.
                guard let present = self.observation ?? (cell.isPresent(evaluation) ? new : nil) else {
                    return nil
                }
                self.observation = present
                present.attached += 1
                present.starting += 1
                return present
            }
            if let observation { return observation }
        }
    }

    /// An observer's observation has ended, and its closure is destroyed. With the last nothing is registered any more. (P24)
    private func endObserving(_ ended: DerivedObservation<Value>) {
        let isLast = lock.withLock {
            ended.attached -= 1
            guard ended.attached == 0, self.observation === ended else { return false }
            self.observation = nil
            return true
        }
        if isLast { ended.detach() }
    }

    /// How many observations of the value are going on. Notices owners that have died. (P8, P13)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int { lock.withLock { observation }?.property.observationCount ?? 0 }
}

extension Derived: ObservationSource {
    /// Ends every observation of the value, as if each was cancelled. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { lock.withLock { observation }?.property.cancelAllObservations() }
}
