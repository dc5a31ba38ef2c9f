// SPDX-License-Identifier: Apache-2.0

/// What the bindings make of a commit: a commit as well. (P21)
///
/// When a commit has released its locks, and all paths through its properties are relinked, its thread calls the bindings first. Each makes
/// its value, under no lock, and leaves it here. Then all destinations are locked, in the order of their addresses, each binding decides
/// under these locks whether its change is still the latest, and what is left is published as one. Its observers come next, and the bindings
/// that lead on from the destinations: so a chain of bindings passes a commit on whole. Only then are the other observers of the first
/// commit called.
///
/// Two bindings of one destination make one commit after the other, as they would make one change after the other. So do bindings between
/// properties that the commit has set, as they would after one set after the other: made at once, the changes of a ring would go round it
/// behind each other, and never meet. They come last.
///
/// Before the destinations are locked, the thread begins to visit the observers of all these bindings, and leaves out those that have ended.
/// The visits end when all observers of the destinations have been called: a thread that waits for the end of one of the bindings waits
/// for the whole commit. (P9)
@safe
internal final class CarriedCommit {
    // Handed from function to function on one thread.
    /// The number of the commit whose changes the bindings receive.
    private let number: UInt64
    private var changes: [CarriedChange] = []
    /// Where the draft of the member is whose bindings are called.
    private var source: UInt = 0

    init(of number: UInt64) { self.number = number }

    /// From now on the bindings of a member are called, until the next one.
    func begin(_ source: UInt) { self.source = source }

    /// Calls `body`, which calls the bindings of all changes, on the calling thread.
    func gather(_ record: UnsafeMutablePointer<ThreadRecord>, _ body: () -> Void) {
        // Safe, all: records are never freed; the caller keeps this object meanwhile. What the bindings run may commit as well.
        let outer = unsafe record.pointee.carriedCommit
        unsafe record.pointee.carriedCommit = Unmanaged.passUnretained(self).toOpaque()
        body()
        unsafe record.pointee.carriedCommit = outer
    }

    /// The one that takes what a binding makes of a change of a commit; nil if the calling thread announces another one, or none.
    static func taking(_ commit: UInt64) -> CarriedCommit? {
        // Safe, both: records are never freed; `gather` keeps the object.
        guard let address = unsafe ThreadRecord.current.pointee.carriedCommit else { return nil }
        let present = unsafe Unmanaged<CarriedCommit>.fromOpaque(address).takeUnretainedValue()
        return present.number == commit ? present : nil
    }

    func add(_ change: CarriedChange) {
        change.sourceAddress = source
        changes.append(change)
    }

    /// Publishes what the bindings have made. Under no lock.
    ///
    /// - Parameter reach: Of the commit whose changes they have received.
    func publish(after reach: CommitReach) {
        if changes.isEmpty { return }
        arrange(reach)
        // Safe, all: frames are never freed.
        var visits: [UnsafeMutablePointer<Frame>] = unsafe []
        var waiting = changes.filter { change in
            guard let visit = unsafe Observer.beginVisit(at: change.observer.address) else { return false }
            unsafe visits.append(visit)
            return true
        }
        while !waiting.isEmpty {
            var round = CarriedRound()
            waiting = waiting.filter { !round.take($0) }
            round.publish()
        }
        while let visit = unsafe visits.popLast() { unsafe Observer.endVisit(visit) }
        // Values, and what this may be the last to hold. (P5)
        ThreadRecord.withUserCode { changes = [] }
    }

    /// Has what leads to properties that the commit has set come last, and of a pair the way back.
    private func arrange(_ reach: CommitReach) {
        let inner = changes.filter { reach.changes($0.lockAddress) }
        if inner.isEmpty { return }
        markComponents(of: inner)
        changes.removeAll { $0.component != 0 }
        changes += inner.filter { !$0.goesBack } + inner.filter(\.goesBack)
    }

    /// Marks the bindings that are connected by properties that the commit has set.
    private func markComponents(of inner: [CarriedChange]) {
        var parents: [UInt: UInt] = [:]
        func root(_ address: UInt) -> UInt {
            var address = address
            while let parent = parents[address] { address = parent }
            return address
        }
        for change in inner {
            let (source, destination) = (root(change.sourceAddress), root(change.lockAddress))
            if source != destination { parents[source] = destination }
        }
        for change in inner { change.component = root(change.lockAddress) }
    }
}

/// Changes of a carried commit, each of another property, and none made of one of these: what is published as one.
internal struct CarriedRound {
    private var changes: [CarriedChange] = []
    private var places: [UInt: Int] = [:]
    private var sources: Set<UInt> = []
    private var components: Set<UInt> = []

    /// Takes a change, unless it must wait for others.
    mutating func take(_ change: CarriedChange) -> Bool {
        guard places[change.lockAddress] == nil, isApart(change) else { return false }
        places[change.lockAddress] = changes.count
        changes.append(change)
        sources.insert(change.sourceAddress)
        if change.component != 0 { components.insert(change.component) }
        return true
    }

    /// Whether none of the changes is of the property that this one was made of, or made of what this one changes, or connected.
    private func isApart(_ change: CarriedChange) -> Bool {
        return places[change.sourceAddress] == nil && !sources.contains(change.lockAddress)
            && !components.contains(change.component)
    }

    /// Publishes the changes whose claims hold, and calls the observers.
    func publish() {
        var found = FoundMembers()
        for change in changes { found.add(change.destination) }
        let list = MemberList(found)
        Commit.run(list, carrying: self)
        withExtendedLifetime(list) {}
    }

    /// Sets the drafts of the changes whose claims hold. Under the locks of all destinations.
    ///
    /// - Returns: Whether there is one.
    func draft(in transaction: borrowing Transaction) -> Bool {
        guard let pair = changes.first(where: \.isOfPair) else { return draftAll(in: transaction) }
        var hasDraft = false
        pair.decideTogether { hasDraft = draftAll(in: transaction) }
        return hasDraft
    }

    private func draftAll(in transaction: borrowing Transaction) -> Bool {
        var hasDraft = false
        for change in changes {
            if change.draft(in: transaction) { hasDraft = true }
        }
        return hasDraft
    }

    /// Runs `body`, which announces the change of a destination.
    func propagate(_ version: UInt64, of lockAddress: UInt, _ body: () -> Void) {
        changes[places[lockAddress]!].propagate(version, body)
    }
}
