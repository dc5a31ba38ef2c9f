// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. The comment at the top of `Derived.swift`
// explains this folder.

import Synchronization

extension Derived: ObservableProperty {
    /// The present value. Any thread; waits for no other thread. If a source has changed, evaluates
    /// the derived value, under no lock. (P22)
    ///
    /// - Complexity: O(roots) if no source has changed.
    public var value: Value {
        @inlinable @inline(__always) get {
            if ValueEncoding<Value>.isAlwaysInline, let read = look(firstOnly: ValueEncoding<Value>.needsOneWord) {
                return ValueEncoding<Value>.decode(read.words)
            }
            return slowValue()
        }
    }

    @inlinable @inline(never)
    internal func slowValue() -> Value {
        if ValueEncoding<Value>.isAlwaysInline { return ValueEncoding<Value>.decode(refreshedWords()) }
        if let value = copyPinned() { return value }
        return snapshot().value
    }

    @usableFromInline
    internal func refreshedWords() -> Latch.Words { refresh().words }

    /// Returns a copy of a value that holds references, if `look(firstOnly:)` finds that the
    /// present evaluation is current; else nil.
    @inlinable @inline(__always)
    internal func copyPinned() -> Value? {
        guard let read = look(firstOnly: ValueEncoding<Value>.needsOneWord) else { return nil }
        return ValueEncoding<Value>.copy(read.words) { read.set.isPinned(read.sequence) }
    }

    /// The number of changes of the value. The first evaluation has the version 0. Evaluates as
    /// `value` does. (P2)
    public var version: UInt64 { refresh().version }

    /// Returns the present value and its version, which belong together. Evaluates as `value` does.
    public func snapshot() -> (value: Value, version: UInt64) {
        while true {
            let present = refresh()
            if let value = copy(of: present) { return (value, present.version) }
        }
    }

    /// Returns a copy of an evaluation's result. Returns nil if the result has been replaced.
    internal func copy(of present: borrowing Present) -> Value? {
        let words = present.words
        if ValueEncoding<Value>.isAlwaysInline { return ValueEncoding<Value>.decode(words) }
        let (set, sequence) = (present.set, present.sequence)
        // The caller keeps an unpublished result.
        if sequence == 0 { return ValueEncoding<Value>.copy(words) }
        return ValueEncoding<Value>.copy(words) { set.isStill(sequence) }
    }

    /// Returns the value for the function of another derived value, and notes that it was read.
    @inlinable @inline(__always)
    internal func read(into collector: Collector) -> Value {
        if ValueEncoding<Value>.isAlwaysInline { return ValueEncoding<Value>.decode(readWords(into: collector)) }
        return readReference(into: collector)
    }

    @usableFromInline
    internal func readWords(into collector: Collector) -> Latch.Words { collector.read(self) { $0.words } }

    @usableFromInline @inline(never)
    internal func readReference(into collector: Collector) -> Value { collector.read(self, copy) }

    /// Begins an observation of the results. Evaluates the derived value if a source has changed.
    /// From then on, each change of a property that the function's last run read evaluates it
    /// again. (P1, P4, P24)
    ///
    /// A read never delivers a change. Changes are delivered on a thread that changes a source or
    /// begins an observation, or on a thread of the library. `.prior` is not delivered: the value
    /// is not known before the change.
    ///
    /// - Complexity: O(roots).
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        attach(observer) { value, version in AnyDerivedResults(value, version) }
    }

    @usableFromInline
    internal func attach(
        _ observer: PropertyObserver<Value>,
        _ makeResults: (Value, UInt64) -> AnyDerivedResults
    ) -> ObservationToken {
        let observation = beginObserving(makeResults)
        // Links the sources before the observer is attached, so that it misses no change from now
        // on.
        observation.begin(self)
        let property = resultsProperty(of: observation)
        let token = property.attach(areEqual.flatMap { observer.leavingOut($0) } ?? observer)
        observation.hasAttached(token.observer)
        return token
    }

    /// A function that attaches an observer. It returns nil once a source that the derived value
    /// names is gone. It does not retain these sources. It retains the derived value, unless the
    /// derived value belongs to a model. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        if isOfModel { return { [weak self] observer in self?.attach(observer) } }
        let keeper = keeper()
        return { observer in
            guard let node = keeper.node else { return nil }
            return node.withSources(for: keeper) { (node as! Derived).attach(observer) }
        }
    }
}

extension Derived: Dependency {}

// MARK: - Observing

extension Derived {
    /// Returns the observation that all observers of the value share. Makes it for the first
    /// observer.
    private func beginObserving(_ makeResults: (Value, UInt64) -> AnyDerivedResults) -> DerivedObservation {
        while true {
            let evaluation = refresh()
            guard let value = copy(of: evaluation) else { continue }
            let new = DerivedObservation(keeper(), makeResults(value, evaluation.version))
            let observation = lock.withLock { () -> DerivedObservation? in
                if let present = self.observation, present.join() { return present }
                // A new observation begins with the present evaluation.
                guard isPresentLocked(evaluation) else { return nil }
                _ = new.join()
                self.observation = new
                return new
            }
            if let observation { return observation }
        }
    }

    /// The number of observations of the value that have not ended. Reading this number ends the
    /// observations whose owners have died. (P8, P13)
    ///
    /// - Complexity: O(*n*) on average, with *n* observations.
    public var observationCount: Int { observedProperty?.observationCount ?? 0 }

    /// The property that has the results; nil if the value is not observed.
    private var observedProperty: Observed<Value>? { lock.withLock { observation }.map(resultsProperty) }

    private func resultsProperty(of observation: DerivedObservation) -> Observed<Value> {
        (observation.results.results as! DerivedResults<Value>).property
    }
}

extension Derived: ObservationSource {
    /// Ends every observation of the value, as if each was cancelled. Any thread, also inside a
    /// callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*), with *n* observations.
    public func cancelAllObservations() { observedProperty?.cancelAllObservations() }
}

extension ValueEncoding {
    /// Returns a copy of the value that a result's words stand for; nil if the result was replaced.
    ///
    /// - Parameter isPresent: Returns whether the result is still present. Called while the
    ///   result's reference is pinned.
    @inlinable @inline(__always)
    static func copy(_ words: Latch.Words, ifPresent isPresent: () -> Bool) -> Value? {
        ThreadRecord.withCopyPin { pin in
            pin.protect(reference(in: words), ifStill: isPresent).map { _ in copy(words) }
        }
    }
}
