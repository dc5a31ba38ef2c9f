// SPDX-License-Identifier: Apache-2.0

// A *ring* consists of derived values that need each other, or of one that needs itself. A *root*
// is a property that stores its own value. The page in `Derived.swift` explains the room.

/// The state of one evaluation that belongs to a ring which is reported as an error. (P25)
///
/// The way from a derived value back to itself is on the thread's stack. One of the derived values
/// that can report the ring is its head. When a function reads the head again, it receives the
/// error as the head's value, and its collector receives all reads on the way. The evaluations
/// between the head and that function continue, and compute from the error. Their results depend on
/// an evaluation that has not ended. Therefore each result is handed to its reader, and is not
/// published. If the head's function has read such a result when it returns, the head's result is
/// the error. If it has not, a source has changed on the way, and there is no ring any more.
internal final class RingPart {
    /// The error that the derived value has if its function reads a result that depends on it; nil
    /// if it is not the head.
    var cycle: DerivedCycle?
    /// Whether the error is known, so that the user's function need not run.
    var isGiven = false
    /// The results that this evaluation has read may depend on evaluations on the stack that have
    /// not ended. This is the level of the outermost of them; `Int.max` if there is none. The first
    /// evaluation on a thread has level 0.
    var lowest = Int.max

    /// Returns the address of the ring's member that has the error. Returns nil if no member can
    /// have it, or if the reader of a member cannot receive an unpublished result.
    static func head(of way: [Collector]) -> UInt? {
        guard way.dropFirst().allSatisfy({ $0.state.hasReader }) else { return nil }
        return way.filter { $0.state.place.reportsRings }.map { $0.state.derived }.min()
    }
}

extension Collector {
    /// The error, if it is known before the function runs.
    @usableFromInline var givenCycle: DerivedCycle? { state.ring.flatMap { $0.isGiven ? $0.cycle : nil } }

    /// The error, if the derived value is the head of a ring, and its function has read a result of
    /// that ring.
    @usableFromInline var foundCycle: DerivedCycle? {
        state.ring.flatMap { $0.lowest <= state.level ? $0.cycle : nil }
    }

    /// Whether the result depends on an evaluation further down on the stack, which has not ended.
    /// Such a result is not published. The head's result does not depend on one.
    var isInsideRing: Bool {
        guard let ring = state.ring else { return false }
        return ring.lowest < state.level
    }

    /// Closes a ring with the error `cycle`: the function of this collector reads the head, which
    /// this thread is already evaluating. This collector receives all reads on the way. Returns the
    /// error as the unpublished result of the head.
    ///
    /// - Parameter way: The evaluations from the head, the first, to this collector's, the last.
    func close(_ way: [Collector], _ cycle: DerivedCycle, _ head: DerivationNode) -> CopiedResult {
        for collector in way where collector !== self {
            collector.leaveSet()
            note(collector.state.collected, collector.state.versions, isTorn: collector.state.isTorn)
        }
        // If the head is evaluated inside itself, outer evaluations of it may have the error, too.
        let stack = EvaluationStack.current
        for level in stack.levels(of: head.address) {
            let collector = stack.collector(level)
            let ring = collector.state.ring ?? RingPart()
            collector.state.ring = ring
            ring.cycle = cycle
        }
        // A collector of its own makes the head's function return the error as a value of its type,
        // without the user's code. This is the head's unpublished result.
        let given = Collector()
        given.begin(after: .none)
        given.run(head, giving: cycle)
        // Only this function has read what depends on the head. The others on the way have not, and
        // may not: this one may find that a source has changed, and run again.
        enterRing(way[0].state.level)
        return CopiedResult(head, given)
    }

    /// Runs the function of `derived`, which returns `cycle` as its error without running the
    /// user's code.
    private func run(_ derived: DerivationNode, giving cycle: DerivedCycle) {
        let ring = RingPart()
        (ring.cycle, ring.isGiven) = (cycle, true)
        state.ring = ring
        derived.run(self)
    }

    /// Notes that the result depends on the evaluation at `level`. Such a result is not compared
    /// with a published one.
    func enterRing(_ level: Int) {
        let ring = state.ring ?? RingPart()
        state.ring = ring
        ring.lowest = min(ring.lowest, level)
        if isInsideRing { outcome.hasBefore = false }
    }

    /// Leaves the ring before the function runs again.
    @inline(never)
    func leaveRing() {
        state.ring = nil
        outcome.hasBefore = state.base != nil
    }

    /// Ends an evaluation whose function sets, in every run, a property that it reads. The result
    /// is an error, which holds for the present versions of the roots that were read. Returns
    /// whether these versions were present at one moment.
    func report(after base: borrowing Present, _ derived: DerivationNode) -> Bool {
        leaveSet()
        let roots = state.collected.origins.compactMap { $0.root?.root }
        endWatch()
        begin(after: base)
        for root in roots { note(root, DependencySet.version(at: root.address)) }
        run(derived, giving: DerivedCycle([state.place.text]))
        return isConsistent
    }
}

// MARK: - Functions that set what they read

/// Finds a function that sets what it has read: its result could never become current, and it would
/// run forever. Traps when the function sets the property. If the derived value reports rings, it
/// sets `isHopeless` instead. (P25)
///
/// It is made only after `DerivationNode.suspicious` failures, because most often another thread
/// has made the changes. It judges only after `mostByChance` runs in a row that have set what they
/// read. One such run may be chance: this thread released the last reference to an object, whose
/// `deinit` sets the property, because another thread had just released its own.
internal final class SelfWatch: LinkedPath, @unchecked Sendable {
    // Unchecked: only the evaluating thread uses it, but for the constants.
    private let derived: UInt
    private let thread = ThreadRecord.ownAddress
    private let place: DerivationPlace
    private let runsBefore: Int
    private var observers: [UInt: Observer] = [:]
    private var hasSeen = false
    /// Whether the function sets what it has read, and its derived value reports that as an error.
    private(set) var isHopeless = false

    /// Makes a watch for one run of the function of `derived`.
    ///
    /// - Parameter runs: The number of runs in a row, before this one, that have set what they have
    ///   read.
    init(_ derived: DerivationNode, after runs: Int) {
        (self.derived, place, runsBefore) = (derived.address, derived.place, runs)
    }

    /// The number of runs in a row, with this one, that have set what they have read.
    var runs: Int { hasSeen ? runsBefore + 1 : 0 }

    private static var mostByChance: Int { 8 }

    /// Observes the changes of a source from now on.
    func look(at root: any DerivationRoot) {
        guard observers[root.address] == nil else { return }
        observers[root.address] = root.register(self)
    }

    func end() {
        for observer in observers.values { observer.end(.cancelled) }
        observers = [:]
    }

    override func linkHasChanged(_ deferred: inout LinkDeliveries) {
        guard ThreadRecord.ownAddress == thread, EvaluationStack.current.isInside(derived) else { return }
        hasSeen = true
        guard runsBefore >= Self.mostByChance else { return }
        if place.reportsRings {
            isHopeless = true
            return
        }
        fatalError(
            "ConcurrentObserve: the function of a derived value (\(place.text)) sets a property that it has read, so that its result can never be current. Set properties that it does not read, or set this one elsewhere: in an observer of the derived value."
        )
    }
}
