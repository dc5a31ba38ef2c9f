// SPDX-License-Identifier: Apache-2.0

// A *link* of a path is a step before the last one, and the *leaf* is the end of the path at its
// last property. Properties *on the way* are those of the links. The comment at the top of
// `Path.swift` explains this folder.

public import Synchronization

/// The end of a path at one property: passes on that property's changes while the path leads there.
///
/// While the path leads there, the property's changes and the path's changes both have consecutive
/// versions. Therefore the leaf computes the path's version by an addition, without a lock. When
/// the path is led to another property, the leaf is cut at a version of the property. Changes up to
/// that version are still delivered, by the threads that made them. Later changes are not
/// delivered. After the last of these deliveries the leaf is done.
@usableFromInline
internal final class PathLeaf<Value: Sendable>: @unchecked Sendable {
    // Unchecked: `last` is guarded by the locks of the last property.
    private let path: PathObservation<Value>

    /// The observer of the property. Its closure retains the leaf until the closure is destroyed.
    private let observer: VersionedObserver
    /// The address of `observer`.
    @usableFromInline let address: UInt

    /// The address of the user's observer, which the path retains.
    @usableFromInline let userAddress: UInt

    /// Identifies the last property.
    private let source: SourceIdentity

    /// The properties on the way, each with the version for which the path leads here. Nil for a
    /// path of one step, or if no binding receives its changes.
    private let way: ShownVersion?

    /// The addresses of the latches of the properties on the way, by which commits identify them.
    private let links: [UInt]
    /// The path's last value here, and its version, if one commit changed the last property and led
    /// the path to another property; otherwise nil.
    private var last: (value: Value, version: UInt64)?

    /// The path's version when it began to lead here.
    @usableFromInline let base: UInt64

    /// The last version of the property that belongs to the path. `Observed.cut(at:)` writes it, or
    /// a commit that holds the property's mutation lock.
    @usableFromInline let limit = Atomic<UInt64>(.max)

    /// After the cut, the number of deliveries that are still to come. Before the cut, minus the
    /// number of deliveries that are done.
    @usableFromInline let outstanding = Atomic<Int>(0)

    init(
        of path: PathObservation<Value>,
        user: Observer,
        observer: VersionedObserver,
        base: UInt64,
        way: ShownVersion?,
        links: [UInt]
    ) {
        self.path = path
        self.observer = observer
        self.base = base
        self.way = way
        self.links = links
        address = observer.address
        source = observer.sourceIdentity
        userAddress = user.address
    }

    /// The property's version when the path began to lead here.
    @inlinable @inline(__always)
    var since: UInt64 { VersionedObserver.since(at: address) }

    /// Returns the path's version while the property has `version`.
    @inlinable @inline(__always)
    func number(of version: UInt64) -> UInt64 { base &+ (version &- since) }

    /// Returns the versions that a change of the path shows to a binding: the property's `version`,
    /// whose value the change carries, and those of the properties on the way.
    func shown(_ version: UInt64) -> ShownVersion {
        ShownVersion(version, of: observer.core, isValue: true, after: way)
    }

    /// Adds to `outstanding` the number of the leaf's changes up to `version`. The caller has set
    /// the limit.
    func expectDeliveries(through version: UInt64) {
        // Acquire and release: pairs with the subtractions in pass(_:_:_:_:of:) and
        // put(_:of:into:); the deliveries happen before finish().
        let expected = Int(version &- since)
        if outstanding.wrappingAdd(expected, ordering: .acquiringAndReleasing).newValue == 0 { finish() }
    }

    /// Ends the observation of the property. Changes that have not reached the leaf yet are
    /// dropped.
    func drop() { observer.end(.cancelled) }

    @usableFromInline
    func finish() {
        drop()
        path.finishOne()
    }
}

extension PathLeaf {
    /// Passes a change of the property on to the user's observer, with the path's version, unless
    /// the change came after the cut.
    ///
    /// A closure that is not inlined receives a copy of the change. This function is therefore
    /// small enough to be inlined, and passes the fields of the change to the other `pass`.
    @inlinable @inline(__always)
    func pass<Member: PathMember>(_ change: Change<Member.Stored>, of member: Member.Type) where Member.Value == Value {
        if case .valueChanged = change.reason {
            pass(change.old, change.new, change.version, change.commitNumber, of: member)
        } else {
            passAhead(Member.value(of: change.new), change.version)
        }
    }

    /// Whether a change of the property belongs to the path.
    @inlinable @inline(__always)
    func isBeforeCut(_ version: UInt64) -> Bool {
        // Relaxed: the cut is ordered before every later change; see Observed.cut(at:). The caller
        // is the thread that has made the change.
        return version <= limit.load(ordering: .relaxed)
    }

    @inlinable @inline(never)
    func pass<Member: PathMember>(
        _ old: Member.Stored?,
        _ new: Member.Stored,
        _ version: UInt64,
        _ commit: UInt64,
        of member: Member.Type
    ) where Member.Value == Value {
        if commit != 0, isTaken(old, new, version, commit, of: member) { return }
        guard isBeforeCut(version) else { return }
        if let scope = scope(of: version) {
            deliver(change(old, new, version, commit, of: member), in: scope)
        } else {
            change(old, new, version, commit, of: member).deliver(to: userAddress)
        }
        // Acquire and release: as in expectDeliveries(through:).
        if outstanding.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { finish() }
    }

    /// Makes the path's change from a change of the property.
    @inlinable @inline(__always)
    func change<Member: PathMember>(
        _ old: Member.Stored?,
        _ new: Member.Stored,
        _ version: UInt64,
        _ commit: UInt64,
        of member: Member.Type
    ) -> Change<Value> where Member.Value == Value {
        Change(
            .valueChanged,
            old.map(Member.value),
            Member.value(of: new),
            number(of: version),
            commitNumber: commit
        )
    }

    /// Delivers a change in `scope`. This function is out of line, so that a change without a scope
    /// (the usual case) is lent and not copied.
    @usableFromInline @inline(never)
    func deliver(_ change: Change<Value>, in scope: DeliveryScope) {
        scope.perform { change.deliver(to: userAddress) }
    }

    /// Makes the scope of the path's change for a version of the property. Nil unless the calling
    /// thread has the scope of that version, or a binding receives the path's changes.
    @usableFromInline
    func scope(of version: UInt64) -> DeliveryScope? {
        let cause = DeliveryScope.current(version, of: source)
        if cause == nil && !path.showsVersions { return nil }
        return DeliveryScope.ofPath(
            number(of: version),
            of: path.observers.identity,
            becauseOf: cause,
            keepsValue: true,
            showing: path.showsVersions ? shown(version) : nil
        )
    }

    /// Puts a change of the property into the path's mailbox, unless the change came after the cut.
    /// The caller holds the property's mutation lock, or, for a prior delivery, no lock.
    func put<Member: PathMember>(
        _ change: Change<Member.Stored>,
        of member: Member.Type,
        into receiver: ChangeReceiver<Value>
    )
    where Member.Value == Value {
        // A prior delivery is made under no lock.
        guard case .valueChanged = change.reason else { return passAhead(Member.value(of: change.new), change.version) }
        if isFolded(change.old, change.version, of: member) { return }
        guard isBeforeCut(change.version) else { return }
        receiver.enqueue(self.change(change.old, change.new, change.version, change.commitNumber, of: member))
        // Release: pairs with the acquire in expectDeliveries(through:), which comes later and
        // finds all deliveries done.
        outstanding.wrappingSubtract(1, ordering: .releasing)
    }

    /// Passes on a prior delivery (`.prior`), which announces the next change.
    ///
    /// - Parameter version: The version of the property.
    @usableFromInline
    func passAhead(_ value: Value, _ version: UInt64) {
        // Relaxed: as in isBeforeCut(_:).
        guard limit.load(ordering: .relaxed) == .max else { return }
        let ahead = Change(reason: .prior, old: nil, new: value, version: number(of: version))
        ahead.deliver(to: userAddress)
    }
}

// MARK: - Commits

extension PathLeaf {
    /// Whether a commit is calling the observer under its members' locks. If so, only a combination
    /// (properties that are observed together) receives the change now; the commit calls the
    /// observer once more after it has released the locks.
    @usableFromInline @inline(never)
    func isTaken<Member: PathMember>(
        _ old: Member.Stored?,
        _ new: Member.Stored,
        _ version: UInt64,
        _ commit: UInt64,
        of member: Member.Type
    ) -> Bool where Member.Value == Value {
        guard let reach = CommitReach.current else { return false }
        if !isFolded(old, version, of: member), path.isOfCombination, isBeforeCut(version) {
            let change = change(old, new, version, commit, of: member)
            change.deliver(to: userAddress)
            // If the observation has just ended, this is the last reference to a weak property's
            // referent. (P5)
            reach.keep(change)
        }
        return true
    }

    /// Whether the commit that makes a change also leads the path to another property. If so, cuts
    /// the path before the change: its observer receives the whole commit as one change, when the
    /// path is relinked. The caller must hold the property's mutation lock. (P21)
    func isFolded<Member: PathMember>(
        _ old: Member.Stored?,
        _ version: UInt64,
        of member: Member.Type
    ) -> Bool where Member.Value == Value {
        guard !links.isEmpty, let old, let reach = CommitReach.current, isLedAway(by: reach) else { return false }
        // Relaxed, both: as in Observed.cut(at:).
        if limit.load(ordering: .relaxed) == .max {
            last = (Member.value(of: old), version - 1)
            limit.store(version - 1, ordering: .relaxed)
        }
        return true
    }

    private func isLedAway(by commit: CommitReach) -> Bool {
        return links.contains { commit.changes($0) }
    }

    /// Returns the last value that belongs to the path, and the version of that value. A commit has
    /// stored both. The caller must call it only once, after `Observed.cut(at:)` returned nil.
    func takeLast() -> (value: Value, version: UInt64) { last.take()! }
}
