// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *set* is a `DependencySet`: it names the
// sources that evaluations of a derived value have read, and stores the last of these evaluations.
// A *ring* consists of derived values that need each other, or of one that needs itself. The
// comment at the top of `Derived.swift` explains this folder.

import ConcurrentObservePlatform

/// Collects the roots and versions that are read in one evaluation, and stores its result.
///
/// A collector belongs to the evaluating thread, which uses it for one evaluation after another.
/// Most evaluations read the same sources as the previous one. While that is so, the collector
/// follows the previous evaluation's set, and stores only versions: such an evaluation allocates
/// nothing (Scripts/check-counts.sh).
@usableFromInline
internal final class Collector {
    let thread = ThreadRecord.ownAddress
    // Safe, both: only one thread uses each, and no access to one overlaps another access to it.
    @safe @exclusivity(unchecked) var state = State()
    @safe @exclusivity(unchecked) @usableFromInline internal var outcome = Outcome()

    init() {}

    /// The input and the result of an evaluation, which the inlined part of the function uses. Only
    /// the library's own code uses `State`.
    @usableFromInline
    internal struct Outcome: BitwiseCopyable {
        /// Whether there is a previous result with which the new one is compared. `before` has its
        /// words.
        @usableFromInline var hasBefore = false
        @usableFromInline var before = Latch.Words()

        /// Whether the function must only read, so that its roots can be listed.
        @usableFromInline var isListing = false
        /// Whether the function must only call `Collector.weaken`.
        @usableFromInline var isWeakening = false
        /// Whether the function retains the properties that it reads directly.
        @usableFromInline var retains = false
        /// Whether the function computes from a snapshot that was checked before. Later changes of
        /// the sources do not matter then.
        @usableFromInline var isSnapshot = false

        /// The words of the result: see `ValueEncoding`. They are not used if `isSame` is true.
        @usableFromInline var result = Latch.Words()
        /// Whether the result equals the previous one. Then the previous words are kept.
        @usableFromInline var isSame = false
        /// Whether the words of a result contain the value itself, and reference no object.
        @usableFromInline var isInline = false
        /// A number that grows before every run and after every evaluation. A `Followed` that is
        /// used after its run is detected because it has an older number.
        @usableFromInline var run = 0

        @inlinable
        init() {}
    }

    /// The reads and the progress of an evaluation.
    internal struct State {
        /// The address of the derived value. The collector only compares it.
        var derived: UInt = 0
        var place = DerivationPlace.none
        /// Whether the function of another derived value reads this one with its `Reader`. Only
        /// such a function can read the error of a ring.
        var hasReader = false
        /// The cascade that this evaluation has begun, if it is the outermost one of its thread;
        /// else 0.
        var cascade: UInt64 = 0
        /// The error that the function returns instead of running the user's code; else nil.
        var cycle: DerivedCycle?
        /// Whether this evaluation, of a derived value that the thread was evaluating already, is
        /// made because there may be no ring. It has no meaning in other evaluations.
        var isMixture = false

        /// The set of the previous evaluation; nil if there is no previous evaluation.
        var base: DependencyWords?
        /// The sequence of `base` that belongs to the previous evaluation.
        var baseSequence: UInt64 = 0
        /// The set of the previous evaluation, as long as this one reads the same sources in the
        /// same order. Nil otherwise.
        var followed: DependencyWords?
        /// The number of steps of the followed set that this evaluation has read: see `steps`.
        var cursor = 0
        /// The reads of the previous evaluation, in order: see `DependencyDetails.steps`. Empty if
        /// that evaluation read no derived value: then the steps are the roots of `followed`, in
        /// order.
        var steps: [Int32] = []
        /// The derived values that `followed` names, in the order of the reads.
        var nodes: [NodeStep] = []
        /// The reads of this evaluation, if it follows no set; otherwise empty.
        var collected = Collected()
        /// The versions of the roots that were read, in the order of their first reads.
        var versions = VersionList()
        /// The versions of the derived values that were read, in the order of the reads.
        var nodeVersions = VersionList()

        /// The pauses of a function whose sources keep changing while it reads.
        var wait = Backoff()
        /// Whether one root was read at two versions.
        var isTorn = false
        /// The copies that the function reads instead of its sources; nil if it reads the sources.
        var copies: DependencyCopies?
        /// The number of the copies with which the present run began; -1 if the run moved to copies
        /// in its middle. Without copies, this number has no meaning.
        var copiesNumber = 0
        /// The number of reads and runs that failed because a source changed in the meantime.
        /// Failures of evaluations inside this one count, too.
        var failures = 0
        /// Watches whether the evaluating thread changes the sources that the function reads; nil
        /// unless such changes are suspected.
        var watch: SelfWatch?
        /// The notes that the last commit replaced. They may have the last reference to a set, so
        /// they are released when the thread holds no lock.
        var notes: RunNotes?
        /// The function that `weaken` has stored; nil before that.
        var weakFunction: WeakFunction?
    }

    /// Begins an evaluation. `base` is the previous one, and the caller must keep it until this one
    /// ends.
    @inline(__always)
    func begin(after base: borrowing Present) {
        outcome.hasBefore = !base.isNone
        outcome.before = base.words
        outcome.isSnapshot = false
        outcome.isSame = false
        state.base = base.isNone ? nil : base.set
        state.baseSequence = base.sequence
        restart()
    }

    /// Begins a check of the evaluation `present`: notes its roots as if the function had read
    /// them.
    func begin(lookingAt present: borrowing Present) {
        begin(after: .none)
        let set = present.set
        for index in 0..<set.count { note(rootOf: set, index, set.rootVersion(index)) }
    }

    /// Discards what was collected, and prepares for a run of the function.
    @usableFromInline @inline(__always)
    func restart() {
        outcome.run &+= 1
        outcome.retains = false
        (state.cursor, state.isTorn) = (0, false)
        state.versions.removeAll()
        state.nodeVersions.removeAll()
        if !state.collected.isEmpty { state.collected = Collected() }
        leaveSteps()
        state.followed = nil
        if let copies = state.copies { return state.copiesNumber = copies.number }
        guard let set = state.base, state.watch == nil, !outcome.isListing, set.isReusable else { return }
        state.followed = set
        if set.nodeCount > 0, let details = set.object.details {
            (state.steps, state.nodes) = (details.steps, details.nodes)
        }
    }

    @inline(__always)
    private func leaveSteps() {
        if !state.steps.isEmpty { (state.steps, state.nodes) = ([], []) }
    }

    /// Discards what was collected, and pauses, because a source changed while the function read.
    @usableFromInline @inline(never)
    func pauseAndRestart() {
        // After `moveToCopies` nothing has failed: the function has not run on the copies yet.
        if state.copiesNumber < 0 { return restart() }
        noteFailure()
        restart()
        state.wait.pause()
    }

    /// Ends the `SelfWatch` of this evaluation, if there is one.
    func endWatch() {
        state.watch?.end()
        state.watch = nil
    }

    /// Ends the evaluation: discards its reads, and frees memory that most evaluations do not need.
    @inline(__always)
    func clear() {
        outcome.run &+= 1
        leaveSteps()
        if !state.collected.isEmpty || state.versions.isLarge || state.failures > 0 || isOnCopies {
            clearAll()
        }
    }

    @inline(never)
    private func clearAll() {
        (state.failures, state.wait) = (0, Backoff())
        (state.copiesNumber, state.cycle) = (0, nil)
        endCopies()
        state.collected = Collected()
        if state.versions.isLarge { state.versions = VersionList() }
    }
}

/// A list of versions, in the order of the reads. Each evaluation reuses the memory of the one
/// before.
internal struct VersionList {
    private var memory: [UInt64] = []
    private(set) var count = 0

    var indices: Range<Int> { 0..<count }
    /// Whether the memory is larger than most evaluations need.
    var isLarge: Bool { memory.count > 1_024 }

    subscript(index: Int) -> UInt64 { memory[index] }

    @inline(__always)
    mutating func append(_ version: UInt64) {
        if count < memory.count { memory[count] = version } else { memory.append(version) }
        count += 1
    }

    mutating func removeAll() { count = 0 }
}

// MARK: - Noting

extension Collector {
    /// Notes the version of the root at `address`, if this root comes next in the followed set, or
    /// has come before. Otherwise stops following the set and returns false.
    @usableFromInline
    func follow(_ address: UInt, _ version: UInt64) -> Bool {
        guard let set = state.followed else { return false }
        let cursor = state.cursor
        if !state.steps.isEmpty {
            if cursor < state.steps.count, case let index = Int(state.steps[cursor]), index >= 0,
                set.address(index) == address
            {
                state.cursor = cursor + 1
                put(index, version)
                return true
            }
        } else if cursor < set.count, set.address(cursor) == address {
            state.cursor = cursor + 1
            state.versions.append(version)
            return true
        } else if cursor <= Collected.few, let index = (0..<cursor).first(where: { set.address($0) == address }) {
            put(index, version)
            return true
        }
        leaveSet()
        return false
    }

    /// Notes the versions of a derived value, if the followed set names this value and its set
    /// next. Otherwise stops following the set and returns false.
    @inline(__always)
    private func follow(_ node: DerivationNode, _ child: borrowing Present) -> Bool {
        guard state.followed != nil else { return false }
        let cursor = state.cursor
        if cursor < state.steps.count, state.steps[cursor] < 0 {
            let read = state.nodes[state.nodeVersions.count]
            if read.address == node.address, read.set.words == child.set {
                state.cursor = cursor + 1
                for index in 0..<child.set.count { put(read.indices[index], child.set.rootVersion(index)) }
                state.nodeVersions.append(child.version)
                return true
            }
        }
        leaveSet()
        return false
    }

    /// Notes the version of the root at `index`. If the root was read at another version before,
    /// marks the reads as torn.
    @inline(__always)
    private func put(_ index: Int, _ version: UInt64) {
        if index == state.versions.count {
            state.versions.append(version)
        } else if state.versions[index] != version {
            state.isTorn = true
        }
    }

    /// Stops following the set. Moves the reads so far into `state.collected`.
    func leaveSet() {
        guard let set = state.followed else { return }
        state.followed = nil
        for index in state.versions.indices { _ = state.collected.place(set.address(index), set.origin(index)) }
        guard !state.steps.isEmpty else {
            state.collected.steps = state.versions.indices.map(Int32.init)
            return
        }
        state.collected.steps = Array(state.steps[..<state.cursor])
        state.collected.nodes = Array(state.nodes[..<state.nodeVersions.count])
    }

    /// Notes that `root` was read at `version`.
    ///
    /// - Parameter isRetained: Whether a function that names its sources also retains this root.
    func note(_ root: any DerivationRoot, _ version: UInt64, isRetained: Bool = false) {
        let address = root.address
        state.watch?.look(at: root)
        if !follow(address, version) {
            add(address, version, .read(root, isRetained: isRetained && outcome.retains))
        }
    }

    /// Notes that a root of an earlier evaluation's set was read.
    func note(rootOf set: DependencyWords, _ index: Int, _ version: UInt64) {
        let address = set.address(index)
        if !follow(address, version) { add(address, version, set.origin(index)) }
    }

    func add(_ address: UInt, _ version: UInt64, _ origin: Origin) {
        state.collected.steps.append(Int32(place(address, version, origin)))
    }

    private func place(_ address: UInt, _ version: UInt64, _ origin: Origin) -> Int {
        let index = state.collected.place(address, origin)
        put(index, version)
        return index
    }

    /// Notes that `other`, a source whose roots are not known, was read at `version`.
    func note(_ other: any OtherDependency, _ version: UInt64) {
        leaveSet()
        state.collected.steps.append(ReadStep.other)
        state.collected.others.append(other)
        state.collected.otherVersions.append(version)
    }

    /// Notes that the derived value `node` was read, and all sources of `child`, the evaluation
    /// that was read.
    func note(_ node: DerivationNode, _ child: borrowing Present) {
        if let result = child.unpublished { return note(result) }
        if child.set.hasOthers || state.watch != nil || !follow(node, child) { collect(node, child) }
        // If the evaluation was replaced during the reads, the versions may belong to several
        // evaluations.
        if !child.set.isStill(child.sequence) { state.isTorn = true }
    }

    @inline(never)
    private func collect(_ node: DerivationNode, _ child: borrowing Present) {
        let (words, set) = (child.set, child.set.object)
        let roots = words.count == 0 ? [] : node.roots(of: set)
        if let watch = state.watch { for reference in roots { reference.root.map(watch.look) } }
        leaveSet()
        let indices = roots.indices.map { place(words.address($0), words.rootVersion($0), .copied(roots[$0])) }
        state.collected.steps.append(ReadStep.node(state.collected.nodes.count))
        state.nodeVersions.append(child.version)
        state.collected.nodes.append(NodeStep(node, set, indices))
        guard let others = set.details?.others else { return }
        state.collected.others += others
        state.collected.otherVersions += others.indices.map(words.otherVersion)
    }
}
