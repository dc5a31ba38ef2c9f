// SPDX-License-Identifier: Apache-2.0

/// One observation of several properties: their latest values, and a property of its own that has them together.
///
/// Every member's change is noted here, then published as a change of that property, under the combination's lock: so it has
/// versions without gaps, whatever threads make the changes. Several changes may be published as one, but each commit is noted under the
/// locks of its members, and published by itself. A combination does not retain its members. (P2, P3, P11, P21)
internal final class Combination<Value: Sendable>: AnyCombination, @unchecked Sendable {
    // Unchecked: everything mutable, the slots included, is guarded by `lock`, but for `joined`.
    let lock = SourceLock()
    /// What the members' observers are registered with.
    private let options: ObserverOptions
    /// How many changes were noted, a commit being one, and how many of them are published.
    var noted = 0
    private var published = 0
    /// Commits that are not published yet, and what they have replaced, in their order.
    private var (firstStep, lastStep): (Step?, Step?)
    /// What the user's observer observes. Nil before all members have their values, and once one of them is gone.
    private var property: Observed<Value>?
    private var read: (@Sendable () -> Value)?
    /// Of the members. Their closures have the combination: the cycle ends with them.
    private var observers: [Observer] = []
    /// The tokens of the members' observations, while they join: the calling thread's.
    private var joined: [ObservationToken] = []
    /// Whether a member's observation ended before its first value came.
    private var lacksValue = false

    /// - Parameter observer: The user's options.
    private init(_ observer: ObserverOptions) {
        options = ObserverOptions([.initial, .ofCombination]).union(observer.intersection(.ofBinding))
    }

    /// Notes a change of `member`. Under no lock.
    private func note<Member>(_ change: Change<Member>, of member: SourceIdentity, in slot: MemberSlot<Member>) {
        var replaced = change.new
        let version = change.version
        let note = lock.withLock { () -> (property: Observed<Value>, number: Int?)? in
            let isTaken = slot.take(&replaced, of: version)
            if isTaken { noted += 1 }
            // What is not taken may be a commit's.
            guard let property, isTaken || firstStep != nil else { return nil }
            return (property, isTaken ? noted : nil)
        }
        withExtendedLifetime(replaced) {}
        guard let (property, number) = note else { return }
        let commit = change.commitNumber
        guard number != nil || commit != 0, change.reason != .initial,
            let cause = AnnouncedChange.current(version, of: member)
        else {
            return publish(property) { _ in }
        }
        let relayed = cause.relayed(
            as: nil,
            of: property.observers.identity,
            keepsValue: false,
            isCombined: true
        )
        relayed.perform {
            publish(property) { step in
                // What several threads have changed is of neither. A carried commit is of any of its changes.
                let isOfCause = number.map { step.notes == $0...$0 } ?? (step.commit == commit)
                if isOfCause { relayed.setVersion(step.version) }
            }
        }
    }

    /// Makes what was noted a change of the property, or several, unless another thread has done it. Under no lock.
    ///
    /// - Parameter willAnnounce: Called with each change before it is announced.
    private func publish(_ property: Observed<Value>, _ willAnnounce: (Step) -> Void) {
        while let step = lock.withLock({ commitUnpublished(to: property) }) {
            willAnnounce(step)
            property.announce(step.change, of: step.version)
            step.retireReplaced()
            if step.isLast { return }
        }
    }

    /// Commits to the property what is not published yet, if there is something. Under the lock: so no thread is in the midst of it while
    /// the process forks, and a child may change the members. (P18)
    private func commitUnpublished(to property: Observed<Value>) -> Step? {
        guard let step = takeUnpublished() else { return nil }
        let words = property.cell.encode(step.value)
        // A registration in a body may publish. The slots have the members' values: none ends here.
        property.mutation.acquireAnywhere(property.cell.latch.owner)
        step.note(property.cell.publish(words))
        if property.observers.mayHaveMailboxes { property.observers.enqueue(step.change) }
        property.mutation.release()
        return step
    }

    /// Values of the members, which are to be a change of the property by themselves, and then are.
    final class Step {
        // The value is last: where the others are does not depend on its type.
        /// How many changes were noted, and which of them it makes public.
        fileprivate let noted: Int
        fileprivate(set) var notes = 0...0
        /// The number of the commit that has made them, or 0.
        let commit: UInt64
        /// Whether nothing else was noted.
        fileprivate(set) var isLast = false
        fileprivate(set) var next: Step?
        /// Once it is published: what it has replaced, and the number of the change.
        private var replaced = Latch.Words()
        private(set) var version: UInt64 = 0
        private var source: UInt = 0
        let value: Value

        init(_ value: Value, noted: Int, commit: UInt64 = 0) {
            (self.value, self.noted, self.commit) = (value, noted, commit)
        }

        func note(_ replaced: borrowing ValueCell<Value>.Replaced) {
            (self.replaced, version, source) = (replaced.words, replaced.version, replaced.source)
        }

        /// Made anew for each use, so that no copy of the replaced value is left when that is retired.
        var change: Change<Value> {
            Change(.valueChanged, ValueEncoding<Value>.copy(replaced), value, version, commitNumber: commit)
        }

        /// Once. Under no lock.
        func retireReplaced() {
            ValueCell<Value>.Replaced(words: replaced, version: version, source: source).retire()
        }
    }

    /// Whether all members are observed. Once one is not, nothing is published any more: of a commit that changes it the others' values
    /// would be a part. The user's observation is about to end. (P8, P21)
    private var isWhole: Bool {
        return observers.allSatisfy(\.isReceiving)
    }

    /// The members' values, if one has changed since they were published. Under the lock.
    func takeUnpublished() -> Step? {
        guard published < noted, isWhole else { return nil }
        let step = firstStep ?? Step(read!(), noted: noted)
        firstStep = step.next
        if firstStep == nil { lastStep = nil }
        step.next = nil
        step.notes = published + 1...step.noted
        published = step.noted
        step.isLast = published == noted
        return step
    }

    // MARK: Commits

    override func take(_ slots: [AnyMemberSlot], of commit: UInt64, _ replaced: inout [Any]) {
        lock.withLock {
            // Changes of which the threads have not come here yet: when they do, they find them taken.
            var isBehind = false
            for slot in slots where slot.isBehind {
                slot.takeOld(&replaced)
                isBehind = true
            }
            if isBehind { noted += 1 }
            addStep()
            for slot in slots { slot.takeStaged(&replaced) }
            addCommit(commit)
        }
    }

    /// Under the lock.
    private func addCommit(_ commit: UInt64) {
        noted += 1
        addStep(of: commit)
    }

    /// Has the present values published by themselves, if they are not yet, and all members are observed. Under the lock.
    ///
    /// - Parameter commit: The number of the commit that has made them, or 0.
    func addStep(of commit: UInt64 = 0) {
        guard let read, isWhole, (lastStep?.noted ?? published) < noted else { return }
        let step = Step(read(), noted: noted, commit: commit)
        if let lastStep { lastStep.next = step } else { firstStep = step }
        lastStep = step
    }
}

extension Combination: Joined {
    /// Observes what joins, and begins the user's observation. Nil if one of the members is gone.
    static func attach(_ observer: PropertyObserver<Value>, _ joining: Joining<Value>) -> ObservationToken? {
        KnownTypes.make(for: ObjectIdentifier(Self.self)) {
            [Step.self]
        } size: {
            0
        }
        let combination = Combination(observer.options)
        let read = joining.join(combination)
        let members = combination.joined
        combination.joined = []
        return read.map { combination.start(observer, members, $0) }
    }

    func join<Member: Sendable>(_ attach: WeakAttachment<Member>) -> MemberSlot<Member>? {
        let slot = MemberSlot<Member>()
        let form = CallbackForm<Change<Member>>.made { [self] observer in
            // Once: what a commit stages is guarded by the lock of one member.
            let member = slot.claim { observer.sourceIdentity }
            return { [self] change in
                if let reach = CommitReach.current {
                    slot.stage(change)
                    reach.add(slot, of: self)
                } else if change.reason != .prior {
                    note(change, of: member, in: slot)
                }
            }
        }
        guard let token = attach(PropertyObserver(options, .inline(form))) else { return nil }
        joined.append(token)
        // Another thread may have ended the observation before its initial delivery.
        lock.withLock { if slot.isEmpty { lacksValue = true } }
        return slot
    }

    /// Begins the user's observation.
    ///
    /// - Parameters:
    ///   - members: The tokens of the members' observations, which go on as long as the user's.
    ///   - read: Makes the combined value of the slots. Called under the lock; runs no user code.
    private func start(
        _ observer: PropertyObserver<Value>,
        _ members: [ObservationToken],
        _ read: @escaping @Sendable () -> Value
    ) -> ObservationToken {
        let first = lock.withLock { () -> Value? in
            observers = members.map(\.observer)
            if lacksValue || !isWhole { return nil }
            self.read = read
            published = noted
            return read()
        }
        guard let first else { return endAtOnce(observer, members) }
        let property = Observed(first)
        let token = begin(observer, of: property)
        // A removal at a member ends the user's observation, which the member counts: also while events wait in its mailbox though another
        // member has died. (P8)
        for member in members { member.observer.feed(token.observer.core) }
        // Before the return, if one was removed meanwhile: half a group would be left.
        for member in members { token.observer.endIfRemoved(member.observer) }
        catchUp(property)
        let handle = ObservationHandle(token.observer)
        // The members count the observation no longer: a derived value among them may be observed by nothing else. (P24)
        if !token.observer.atEnd({ for member in members { member.cancel() } }) {
            for member in members { member.cancel() }
        }
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

    private func begin(_ observer: PropertyObserver<Value>, of property: Observed<Value>) -> ObservationToken {
        let token = property.attach(observer)
        // Not before: the observation begins at version 0.
        open(property)
        return token
    }

    /// Publishes what was noted since the first value was read. Inside a body a thread of the library does it: there a callback that
    /// makes a change would trap. (P5)
    private func catchUp(_ property: Observed<Value>) {
        guard lock.withLock({ published < noted }) else { return }
        guard ThreadRecord.isInsideBody else { return publish(property) { _ in } }
        ThreadRecord.retire(DeferredAction(for: self) { [self] in publish(property) { _ in } })
    }

    /// From now on what is noted is published.
    func open(_ property: Observed<Value>) { lock.withLock { self.property = property } }

    /// Ends the user's observation with `.sourceDeleted`, as the end of any property does. (P12)
    private func dropProperty() {
        let property = lock.withLock { self.property.take() }
        withExtendedLifetime(property) {}
    }
}
