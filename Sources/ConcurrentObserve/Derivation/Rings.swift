// SPDX-License-Identifier: Apache-2.0

// A *ring* consists of derived values that need each other, or of one that needs itself. A *root*
// is a property that stores its own value. The comment at the top of `Derived.swift` explains this
// folder.

// A ring is reported as an error only while its members are evaluated on copies of their sources:
// there a function finds the same values whenever it runs. Each result that is computed on the
// copies is final, and kept with them. When a function reads a member that is being evaluated, the
// *way* is the evaluations from that member to the function. If no member on the way has a result
// yet, one member whose function can return the error becomes the *head*: the error is its result
// at once. If the function has read another member than the head, that member is evaluated once
// more, inside itself, and computes from the head's error. Each other member also computes from it.
// Which members are heads does not depend on the member that is read first, unless 64 rings or more
// share a member: see `EvaluationStack.enterAgain`.
//
// When a way back is found without copies, the evaluations on it go on with the same new copies:
// see `Collector.moveToCopies`. Each of them runs its function again, finds the results of the
// others, and publishes its own result, marked with the members of the ring. When a member later
// reads a result with this mark, it does not compute from that result, which may come from the
// member's own error. It evaluates the ring again, on copies. In a ring of n members that each read
// one other, at most 4 n functions run. (P25)

extension DependencyCopies {
    /// Returns the address of the member that gets the error; nil if no member on the way can have
    /// it, or if a function reads another member without its reader.
    static func head(of way: [Collector]) -> UInt? {
        guard way.dropFirst().allSatisfy({ $0.state.hasReader }) else { return nil }
        return way.filter { $0.state.place.reportsRings }.map { $0.state.derived }.min()
    }

    /// Makes `head`, which is on the way, the head of a ring, and keeps the error as its result.
    /// The error depends on all that the evaluations on the way have read.
    func close(_ way: [Collector], _ head: DerivationNode) {
        let (given, cycle) = (Collector(), DerivedCycle(way.map { $0.state.place.text }))
        given.begin(after: .none)
        for collector in way {
            given.note(collector.state.collected, collector.state.versions, isTorn: collector.state.isTorn)
        }
        given.run(head, giving: cycle)
        keep(CopiedResult(head, given, cycle))
    }
}

extension Collector {
    /// The error that the function of the derived value returns instead of running the user's code;
    /// nil if it runs the user's code.
    @usableFromInline var cycle: DerivedCycle? { state.cycle }

    /// Runs the function of `derived`, which returns `cycle` as its error without running the
    /// user's code.
    fileprivate func run(_ derived: DerivationNode, giving cycle: DerivedCycle) {
        state.cycle = cycle
        ThreadRecord.withUserCode { derived.run(self) }
        state.cycle = nil
    }

    /// Runs the function of `derived`. If `derived` is the head of a ring on the copies, before or
    /// after the run, the result is the error.
    func evaluate(_ derived: DerivationNode) {
        guard isOnCopies else { return ThreadRecord.withUserCode { derived.run(self) } }
        var head = ringHead(derived)
        if head == nil {
            ThreadRecord.withUserCode { derived.run(self) }
            head = isOnLatestCopies ? ringHead(derived) : nil
            if head != nil { derived.discard(self) }
        }
        guard let head else { return }
        restart()
        note(head)
        run(derived, giving: head.cycle!)
    }

    private func ringHead(_ derived: DerivationNode) -> CopiedResult? {
        guard let result = state.copies?.result(of: derived.address) else { return nil }
        return result.cycle != nil ? result : nil
    }

    /// Ends an evaluation whose function sets, in every run, a property that it reads. The result
    /// is an error, which holds for the versions that the properties have after this thread's own
    /// changes. Returns whether they still have these versions.
    func report(_ watch: SelfWatch, after base: borrowing Present, _ derived: DerivationNode) -> Bool {
        leaveSet()
        var (reads, versions) = (state.collected, VersionList())
        for (index, address) in reads.addresses.enumerated() {
            versions.append(state.versions[index] &+ watch.changes(of: address))
        }
        // The watch does not see which thread changes a source whose roots are not known. If the
        // error could not be reported for some runs, it holds for the present versions of these
        // sources.
        if watch.isLate { reads.otherVersions = reads.others.map(\.version) }
        endWatch()
        begin(after: base)
        note(reads, versions, isTorn: false)
        run(derived, giving: DerivedCycle([state.place.text]))
        return isCurrent
    }
}

// MARK: - Functions that set what they read

/// Finds a function that sets a property that it has read. The result of such a function could
/// never become current, and the function would run forever. Traps when the function sets the
/// property. If the derived value reports rings, sets `isHopeless` instead. (P25)
///
/// It is made only after `DerivationNode.suspicious` failures, because most often another thread
/// has made the changes. It judges only after `mostByChance` runs in a row that have set a property
/// that they read. One such run may be chance: this thread released the last reference to an
/// object, whose `deinit` sets the property, because another thread had just released its own.
internal final class SelfWatch: @unchecked Sendable {
    // Unchecked: only the evaluating thread uses it, but for the constants.
    /// Receives the changes of one root, and counts those that the function makes.
    private final class Link: LinkReceiver, @unchecked Sendable {
        // Unchecked: as above.
        private let watch: SelfWatch
        var observer: Observer?
        /// The number of changes that the function has made.
        var changes: UInt64 = 0

        init(_ watch: SelfWatch) { self.watch = watch }

        override func linkHasChanged(_ deferred: inout LinkDeliveries) {
            if watch.hasChanged() { changes += 1 }
        }
    }

    private let derived: UInt
    private let thread = ThreadRecord.ownAddress
    private let place: DerivationPlace
    private let runsBefore: Int
    private var links: [UInt: Link] = [:]
    private var hasSeen = false
    /// Whether the function sets a property that it has read, and its derived value reports that as
    /// an error.
    private(set) var isHopeless = false

    /// Makes a watch for one run of the function of `derived`.
    ///
    /// - Parameter runs: The number of runs in a row, before this one, that have set a property
    ///   that they have read.
    init(_ derived: DerivationNode, after runs: Int) {
        (self.derived, place, runsBefore) = (derived.address, derived.place, runs)
    }

    /// The number of runs in a row, with this one, that have set a property that they have read.
    var runs: Int { hasSeen ? runsBefore + 1 : 0 }

    private static var mostByChance: Int { 8 }

    /// Whether the error should have been reported some runs ago, and could not be.
    var isLate: Bool { runsBefore > 2 * Self.mostByChance }

    /// Observes the changes of a source from now on.
    func look(at root: any DerivationRoot) {
        guard links[root.address] == nil else { return }
        let link = Link(self)
        links[root.address] = link
        link.observer = root.register(link)
    }

    /// Returns the number of times that the function has set the root at `address` after reading
    /// it.
    func changes(of address: UInt) -> UInt64 { links[address]?.changes ?? 0 }

    func end() {
        for link in links.values { link.observer?.end(.cancelled) }
        links = [:]
    }

    /// Handles a change of a source. Returns whether the function has made it.
    private func hasChanged() -> Bool {
        guard ThreadRecord.ownAddress == thread, EvaluationStack.current.isInside(derived) else { return false }
        hasSeen = true
        guard runsBefore >= Self.mostByChance else { return true }
        if place.reportsRings {
            isHopeless = true
            return true
        }
        fatalError(
            "ConcurrentObserve: the function of a derived value (\(place.text)) sets a property that it has read, so that its result can never be current. Set properties that it does not read, or set this one elsewhere: in an observer of the derived value."
        )
    }
}
