// SPDX-License-Identifier: Apache-2.0

/// The changes that bindings make from a commit. They are a commit as well. (P21)
///
/// When a commit has released its locks, and all paths through its properties are relinked, its
/// thread calls the bindings first. Each makes its value, under no lock, and leaves it here. Then
/// the thread locks all destinations, in the order of their addresses. Under these locks each
/// binding decides whether its change is still the latest. The changes that are left are published
/// as one. Then come the destinations' own bindings, which carry this commit on in the same way,
/// and their other observers. So a chain of bindings passes a commit on as a whole. Only then are
/// the other observers of the first commit called.
///
/// If two bindings have one destination, they make two commits, one after the other, as they would
/// make two changes. So do bindings between properties that the commit has set, as they would after
/// one set after the other. If they were made at once, the changes of a ring would go round it
/// behind each other, and never meet. Bindings between properties that the commit has set come
/// last.
///
/// Before the destinations are locked, the thread begins a visit of the observer of each of these
/// bindings, and leaves out those that have ended. The visits end when all observers of the
/// destinations have been called. So a thread that waits for the end of one of the bindings waits
/// for the whole commit. (P9)
@safe
internal final class CarriedCommit {
    // Passed from function to function on one thread.
    /// The number of the commit whose changes the bindings receive.
    private let number: UInt64
    private var changes: [CarriedChange] = []
    /// The lock address of the member whose bindings are being called.
    private var source: UInt = 0

    init(of number: UInt64) { self.number = number }

    /// Begins the bindings of a member: the changes that are added next come from it.
    func begin(_ source: UInt) { self.source = source }

    /// Calls `body`, which calls the bindings of all changes on the calling thread.
    func gather(_ record: UnsafeMutablePointer<ThreadRecord>, _ body: () -> Void) {
        // Safe, all: records are never freed; the caller keeps this object until `body` returns.
        // The bindings may run code that commits, too.
        let outer = unsafe record.pointee.carriedCommit
        unsafe record.pointee.carriedCommit = Unmanaged.passUnretained(self).toOpaque()
        body()
        unsafe record.pointee.carriedCommit = outer
    }

    /// Returns the object that takes the changes made from the commit with this number; nil if the
    /// calling thread is carrying on another commit, or none.
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

    /// Publishes the changes that the bindings have made. Under no lock.
    ///
    /// - Parameter reach: The reach of the commit whose changes the bindings have received.
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
        // Destroys values, and perhaps releases last references. (P5)
        ThreadRecord.withUserCode { changes = [] }
    }

    /// Orders the bindings into properties that the commit has set last, those from the second side
    /// of a pair to the first after the others.
    private func arrange(_ reach: CommitReach) {
        let inner = changes.filter { reach.changes($0.lockAddress) }
        if inner.isEmpty { return }
        markComponents(of: inner)
        changes.removeAll { $0.component != 0 }
        changes += inner.filter { !$0.goesBack } + inner.filter(\.goesBack)
    }

    /// Marks which bindings are connected by properties that the commit has set.
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

/// Changes of a carried commit that are published as one. Each changes another property, and none
/// is made from a property that another one changes.
internal struct CarriedRound {
    private var changes: [CarriedChange] = []
    private var places: [UInt: Int] = [:]
    private var sources: Set<UInt> = []
    private var components: Set<UInt> = []

    /// Takes a change. Returns false if it must wait for a later round.
    mutating func take(_ change: CarriedChange) -> Bool {
        guard places[change.lockAddress] == nil, isApart(change) else { return false }
        places[change.lockAddress] = changes.count
        changes.append(change)
        sources.insert(change.sourceAddress)
        if change.component != 0 { components.insert(change.component) }
        return true
    }

    /// Whether the change is independent of those already in the round: none of them changes its
    /// source, or has its destination as a source, or is connected with it.
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

    /// Sets the drafts of the changes whose claims hold. The caller must hold the mutation locks of
    /// all destinations.
    ///
    /// - Returns: Whether a claim held.
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

    /// Runs `body`, which announces the change of the destination with this lock address.
    func propagate(_ version: UInt64, of lockAddress: UInt, _ body: () -> Void) {
        changes[places[lockAddress]!].propagate(version, body)
    }
}
