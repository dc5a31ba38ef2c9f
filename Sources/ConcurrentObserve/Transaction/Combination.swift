// SPDX-License-Identifier: Apache-2.0

/// One observation of several properties: their latest values, and a property of its own that has them together.
///
/// Every member's change is noted here, then published as a change of that property, under its mutation lock: so the combination has
/// versions without gaps, whatever threads make the changes. It does not retain its members. (P2, P3, P11)
internal final class Combination<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable, the slots included, is guarded by `lock`.
    let lock = SourceLock()
    /// How many changes were noted, and how many of them are published.
    private var noted = 0
    private var published = 0
    /// What the user's observer observes. Nil before all members have their values, and once one of them is gone.
    private var property: Observed<Value>?
    private var read: (@Sendable () -> Value)?
    /// Whether a member's observation ended before its first value came.
    private var lacksValue = false

    /// A change was noted that is published already: nothing is changed.
    private struct IsPublished: Error {}

    /// The latest value of one member.
    internal final class Slot<Member: Sendable>: @unchecked Sendable {
        // Unchecked: guarded by the combination's lock.
        private var latest: (value: Member, version: UInt64)?

        /// Whether no value has come. Under the lock.
        var isEmpty: Bool { latest == nil }

        /// Under the lock, if it is not empty.
        var value: Member { latest!.value }

        /// Takes a change, unless a later one was taken. Under the lock.
        ///
        /// - Parameter change: Receives what was replaced, for the caller to destroy under no lock. (P5)
        func take(_ change: inout (value: Member, version: UInt64)?) -> Bool {
            guard isLater(change!.version) else { return false }
            swap(&latest, &change)
            return true
        }

        private func isLater(_ version: UInt64) -> Bool {
            #if INSTRUMENTED
            if mutant(.aCombinationTakesAnOlderChange) { return true }
            #endif
            return latest.map { version > $0.version } ?? true
        }
    }

    /// Notes a change of `member`. Under no lock.
    private func note<Member>(_ change: Change<Member>, of member: SourceIdentity, in slot: Slot<Member>) {
        var replaced: (value: Member, version: UInt64)? = (change.new, change.version)
        let note = lock.withLock { () -> (property: Observed<Value>, number: Int)? in
            guard slot.take(&replaced) else { return nil }
            noted += 1
            return property.map { ($0, noted) }
        }
        withExtendedLifetime(replaced) {}
        guard let (property, number) = note else { return }
        guard change.reason != .initial, let cause = AnnouncedChange.current(change.version, of: member) else {
            return publish(property) { _, _ in }
        }
        let relayed = cause.relayed(
            as: nil,
            of: property.observers.identity,
            keepsValue: false,
            isCombined: true
        )
        relayed.perform {
            publish(property) { version, notes in
                // What several threads have changed is of neither.
                if notes == number...number { relayed.setVersion(version) }
            }
        }
    }

    /// Makes what was noted a change of the property, unless another thread has done it. Under no lock.
    ///
    /// - Parameter willPublish: Called with the change's version, and with the numbers of what was
    ///   noted, before the change is announced. Under the property's mutation lock.
    private func publish(
        _ property: Observed<Value>,
        _ willPublish: (_ version: UInt64, _ notes: ClosedRange<Int>) -> Void
    ) {
        #if INSTRUMENTED
        if mutant(.aCombinationIsReadOutsideTheLock) { return publishOutOfOrder(property) }
        #endif
        _ = try? property.modify { value throws(IsPublished) in
            // Under the property's mutation lock. No value ends here: the slots have theirs, the property has the replaced ones.
            guard let present = lock.withLock({ takeUnpublished() }) else { throw IsPublished() }
            value = present.value
            willPublish(property.cell.version + 1, present.notes)
        }
    }

    /// The members' values, if one has changed since they were published, and which notes they are
    /// of. Under the lock.
    func takeUnpublished() -> (value: Value, notes: ClosedRange<Int>)? {
        guard published < noted else { return nil }
        let notes = published + 1...noted
        published = noted
        return (read!(), notes)
    }
}

extension Combination {
    /// Observes a member. Returns where its latest value is, and the token of its observation; nil if the member is gone.
    func add<Member: Sendable>(
        _ attach: WeakAttachment<Member>
    ) -> (slot: Slot<Member>, token: ObservationToken?) {
        let slot = Slot<Member>()
        let form = CallbackForm<Change<Member>>.made { [self] observer in
            let member = observer.sourceIdentity
            return { [self] change in if change.reason != .prior { note(change, of: member, in: slot) } }
        }
        let token = attach(PropertyObserver(.initial, .inline(form)))
        // Another thread may have ended the observation before its initial delivery.
        lock.withLock { if slot.isEmpty { lacksValue = true } }
        return (slot, token)
    }

    /// Begins the user's observation.
    ///
    /// - Parameters:
    ///   - members: The tokens of the members' observations, which go on as long as the user's.
    ///   - read: Makes the combined value of the slots. Called under the lock; runs no user code.
    func start(
        _ observer: PropertyObserver<Value>,
        _ members: [ObservationToken],
        _ read: @escaping @Sendable () -> Value
    ) -> ObservationToken {
        let first = lock.withLock { () -> (value: Value, noted: Int)? in
            if lacksValue { return nil }
            self.read = read
            return (read(), noted)
        }
        guard let first else { return endAtOnce(observer, members) }
        let property = Observed(first.value)
        // A removal at a member ends the user's observation, which the member counts. (P8)
        for member in members { member.observer.feed(property.observers.core()) }
        let token = begin(observer, of: property, published: first.noted)
        // Before the return, if one was removed meanwhile: half a group would be left.
        for member in members { token.observer.endIfRemoved(member.observer) }
        // What was noted in between is published now.
        publish(property) { _, _ in }
        let handle = ObservationHandle(token.observer)
        _ = token.observer.whenFinished { _ in withExtendedLifetime(members) {} }
        for member in members {
            // With a member's source the combination is gone: it has no value any more.
            member.onEnd { [self] end in
                if end == .sourceDeleted { dropProperty() } else { handle.cancel() }
            }
        }
        return token
    }

    /// The user's observation ends as that of the member does.
    private func endAtOnce(_ observer: PropertyObserver<Value>, _ members: [ObservationToken]) -> ObservationToken {
        let ended = members.first { !$0.isActive }?.observer.knownMark.end
        return EndedSource.attach(observer, ended ?? .cancelled)
    }

    private func begin(
        _ observer: PropertyObserver<Value>,
        of property: Observed<Value>,
        published: Int
    ) -> ObservationToken {
        #if INSTRUMENTED
        if mutant(.aCombinationChangesBeforeItIsObserved) { return beginLate(observer, of: property, published) }
        #endif
        let token = property.attach(observer)
        // Not before: the observation begins at version 0.
        open(property, published)
        return token
    }

    /// From now on what is noted is published.
    func open(_ property: Observed<Value>, _ published: Int) {
        lock.withLock {
            self.published = published
            self.property = property
        }
    }

    /// Ends the user's observation with `.sourceDeleted`, as the end of any property does. (P12)
    private func dropProperty() {
        let property = lock.withLock { self.property.take() }
        withExtendedLifetime(property) {}
    }
}
