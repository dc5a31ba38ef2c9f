// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One observation of several properties: it keeps the latest value of each, and a property that
/// has all of these values together.
///
/// Every change of a member is *noted* here: its value is put into the member's slot
/// (`MemberSlot`), and the change is counted. Then it is published as a change of that property,
/// under the combination's lock, so the versions have no gaps, whichever threads make the changes.
/// A `Step` may publish several changes as one. But each commit is noted under the locks of its
/// members, and has a step for itself. A combination does not retain its members. (P2, P3, P11,
/// P21)
internal final class Combination<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable, the slots included, is guarded by `lock`, except `joined`.
    let lock = SourceLock()
    /// The options with which the members' observers are registered.
    private let options: ObserverOptions
    /// The number of changes that were noted. A commit counts as one change.
    var noted = 0
    /// The number of noted changes that are published.
    private var published = 0
    /// The first and the last step of the list of unpublished steps. Each commit has a step. If the
    /// values that the commit replaced are not published either, another step before it has them.
    private var (firstStep, lastStep): (Step?, Step?)
    /// The property that the user's observer observes. Nil until all members have their values, and
    /// after one of them is gone.
    private var property: Observed<Value>?
    private var read: (@Sendable () -> Value)?
    /// The observers of the members. Their closures retain the combination; this cycle is broken
    /// when the observers end.
    private var observers: [Observer] = []
    /// The tokens of the members' observations, while they join. Only the joining thread uses them.
    private var joined: [ObservationToken] = []
    /// Whether a member's observation ended before its first value came.
    private var lacksValue = false

    /// Makes a combination that has no members yet.
    ///
    /// - Parameter observer: The user's options.
    private init(_ observer: ObserverOptions) {
        options = ObserverOptions([.initial, .ofCombination]).union(observer.intersection(.ofBinding))
    }

    /// Notes a change of `member`, whose slot is `slot`, and publishes it. The caller must hold no
    /// lock.
    private func note<Member>(_ change: Change<Member>, of member: SourceIdentity, in slot: MemberSlot<Member>) {
        var replaced = change.new
        let version = change.version
        let note = lock.withLock { () -> (property: Observed<Value>, number: Int?)? in
            let isTaken = slot.takeLocked(&replaced, of: version)
            if isTaken { noted += 1 }
            // A change that the slot does not take may belong to a commit that is not published
            // yet.
            guard let property, isTaken || firstStep != nil else { return nil }
            return (property, isTaken ? noted : nil)
        }
        withExtendedLifetime(replaced) {}
        guard let (property, number) = note else { return }
        let commit = change.commitNumber
        let isCause = (number != nil || commit != 0) && change.reason != .initial
        publish(property, becauseOf: isCause ? DeliveryScope.current(version, of: member) : nil) { step in
            // A step with several noted changes has no single cause. Each change of a commit counts
            // as the cause of the commit's step.
            number.map { step.notes == $0...$0 } ?? (step.commit == commit)
        }
    }

    /// Publishes the noted changes as changes of the property, unless another thread has done so.
    /// The caller must hold no lock.
    ///
    /// - Parameters:
    ///   - cause: The scope of the member's change that the calling thread delivers; nil if the
    ///     change has none.
    ///   - isOfCause: Returns true if that change is the cause of a step.
    private func publish(
        _ property: Observed<Value>,
        becauseOf cause: DeliveryScope? = nil,
        _ isOfCause: (Step) -> Bool = { _ in false }
    ) {
        while let step = lock.withLock({ commitUnpublishedLocked(to: property) }) {
            let source = property.observers.identity
            if let cause, isOfCause(step) {
                cause.relayed(as: step.version, of: source, keepsValue: false, isCombined: true).perform {
                    property.announce(step.change, of: step.version)
                }
            } else {
                property.announce(step.change, of: step.version)
            }
            step.retireReplaced()
            if step.isLast { return }
        }
    }

    /// Publishes the next unpublished step as a change of the property, and calls no observer.
    /// Returns the step; nil if there is none.
    private func commitUnpublishedLocked(to property: Observed<Value>) -> Step? {
        guard let step = takeUnpublishedLocked() else { return nil }
        let words = property.cell.encode(step.value)
        // The body of a `modify` or a commit may register an observer, and thereby run this code:
        // `acquireAnywhere` does not trap there. No value is destroyed here, because the slots have
        // the members' values.
        property.mutation.acquireAnywhere()
        step.note(property.cell.publishLocked(words))
        if property.observers.mayHaveMailboxes { property.observers.enqueue(step.change) }
        property.mutation.release()
        return step
    }

    /// The values of all members for one change of the property. When that change is published, the
    /// step also keeps its version and the replaced value.
    final class Step {
        // The value is last, so that the places of the other fields do not depend on its type.
        /// The number of changes that were noted when the step was made.
        fileprivate let noted: Int
        /// The numbers of the noted changes that the step publishes, counted from 1.
        fileprivate(set) var notes = 0...0
        /// The number of the commit that made the values, or 0.
        let commit: UInt64
        /// Whether no noted change is left to publish after this step.
        fileprivate(set) var isLast = false
        fileprivate(set) var next: Step?
        /// The words that the step replaced, once it is published.
        private var replaced = Latch.Words()
        /// The version of the property's change, once the step is published.
        private(set) var version: UInt64 = 0
        /// The address of the property's latch, once the step is published.
        private var source: UInt = 0
        let value: Value

        init(_ value: Value, noted: Int, commit: UInt64 = 0) {
            (self.value, self.noted, self.commit) = (value, noted, commit)
        }

        func note(_ replaced: borrowing ValueCell<Value>.Replaced) {
            (self.replaced, version, source) = (replaced.words, replaced.version, replaced.source)
        }

        /// The change of the property. It is made for each use, so that no copy of the replaced
        /// value is left when the replaced value is retired.
        var change: Change<Value> {
            Change(.valueChanged, ValueEncoding<Value>.copy(replaced), value, version, commitNumber: commit)
        }

        /// Retires the replaced value. Called once, under no lock.
        func retireReplaced() {
            ValueCell<Value>.Replaced(words: replaced, version: version, source: source).retire()
        }
    }

    /// Whether the observers of all members receive changes. If one does not, the user's
    /// observation is about to end, and nothing more is published: a commit may change that member,
    /// and the other values would be only a part of the commit. (P8, P21)
    private var isWhole: Bool {
        // Acquire: pairs with the fence in RegistryCore.endLocked(_:_:). If the commit has found an
        // entry ended, this finds its observer cut off.
        atomicMemoryFence(ordering: .acquiring)
        return observers.allSatisfy(\.isReceiving)
    }

    /// Takes the next step to publish: the first unpublished step, or else a new step with the
    /// present values. Returns nil if all noted changes are published, or if a member is not
    /// observed any more.
    func takeUnpublishedLocked() -> Step? {
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

    func take(_ slots: [AnyMemberSlot], of commit: UInt64, _ replaced: inout [Any]) {
        lock.withLock {
            // First the slots take earlier changes whose threads have not noted them yet. These
            // threads will find the changes taken.
            var isBehind = false
            for slot in slots where slot.isBehind {
                slot.takeOldLocked(&replaced)
                isBehind = true
            }
            if isBehind { noted += 1 }
            addStepLocked()
            for slot in slots { slot.takeStagedLocked(&replaced) }
            noted += 1
            addStepLocked(of: commit)
        }
    }

    /// Adds a step with the present values, unless a step has them already, or a member is not
    /// observed any more.
    ///
    /// - Parameter commit: The number of the commit that made the values, or 0.
    func addStepLocked(of commit: UInt64 = 0) {
        guard let read, isWhole, (lastStep?.noted ?? published) < noted else { return }
        let step = Step(read(), noted: noted, commit: commit)
        if let lastStep { lastStep.next = step } else { firstStep = step }
        lastStep = step
    }
}

extension Combination: Joined {
    /// Observes the members, begins the user's observation, and returns its token. Returns nil if
    /// one of the members is gone.
    static func attach(_ observer: PropertyObserver<Value>, _ joining: Joining<Value>) -> ObservationToken? {
        let combination = Combination(observer.options)
        let read = joining.join(combination)
        let members = combination.joined
        combination.joined = []
        return read.map { combination.start(observer, members, $0) }
    }

    func join<Member: Sendable>(_ attach: @Sendable (PropertyObserver<Member>) -> ObservationToken?) -> MemberSlot<
        Member
    >? {
        let slot = MemberSlot<Member>()
        let form = CallbackForm<Change<Member>>.made { [self] observer in
            // The slot is claimed once: the lock of one member guards the staged changes.
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

    /// Begins the user's observation, and returns its token.
    ///
    /// - Parameters:
    ///   - members: The tokens of the members' observations, which go on as long as the user's.
    ///   - read: Makes the combined value from the slots. Called under `lock`; runs no user code.
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
        let token = property.attach(observer)
        // Not before the observation has begun, so that it begins at version 0.
        open(property)
        // Each member counts the user's observation, and a removal at the member ends it. Both
        // hold, too, while events wait in the mailbox after the death of another member. (P8)
        for member in members { member.observer.feed(token.observer.core) }
        // Before the return: if a member's observer was removed in between, only part of the group
        // would be observed.
        for member in members { token.observer.endIfRemoved(member.observer) }
        catchUp(property)
        let handle = ObservationHandle(token.observer)
        // When the user's observation ends, the members' observations end, too: a derived value
        // among them may have no other observer. (P24)
        if !token.observer.atEnd({ for member in members { member.cancel() } }) {
            for member in members { member.cancel() }
        }
        for member in members {
            // When a member's source is gone, the combination has no value any more.
            member.onEnd { [self] end in
                if end == .sourceDeleted { dropProperty() } else { handle.cancel() }
            }
        }
        return token
    }

    /// Begins a user's observation that ends at once, for the reason for which a member's
    /// observation has ended. Returns its token.
    private func endAtOnce(_ observer: PropertyObserver<Value>, _ members: [ObservationToken]) -> ObservationToken {
        let ended = members.first { !$0.isActive }?.observer.knownMark.end
        return observer.attach(toEnded: ended ?? .cancelled)
    }

    /// Publishes the changes that were noted since the first value was read. In the body of a
    /// `modify` or a commit, a callback that makes a change would trap: a thread of the library
    /// then publishes the changes. (P5)
    private func catchUp(_ property: Observed<Value>) {
        guard lock.withLock({ published < noted }) else { return }
        guard ThreadRecord.isInsideBody else { return publish(property) }
        ThreadRecord.retire(DeferredAction(for: self) { [self] in publish(property) })
    }

    /// Sets the property: noted changes are published from now on.
    func open(_ property: Observed<Value>) { lock.withLock { self.property = property } }

    /// Releases the property, which ends the user's observation with `.sourceDeleted`, like the end
    /// of any property. (P12)
    private func dropProperty() {
        let property = lock.withLock { self.property.take() }
        withExtendedLifetime(property) {}
    }
}
