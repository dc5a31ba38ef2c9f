// SPDX-License-Identifier: Apache-2.0

/// Collects the roots and versions that are read in one evaluation, and takes its result.
///
/// A collector belongs to the evaluating thread, which uses it for one evaluation after another.
/// Most evaluations read the same sources as the previous one. While that is so, the collector
/// follows the previous evaluation's set, and stores only versions.
@safe @usableFromInline
internal final class Collector {
    let thread = ThreadRecord.ownAddress
    // In memory of their own, so that the compiler need not check for overlapping accesses.
    private let stateMemory: UnsafeMutablePointer<State>
    @usableFromInline internal let outcomeMemory: UnsafeMutablePointer<Outcome>

    init() {
        unsafe stateMemory = .allocate(capacity: 1)
        unsafe stateMemory.initialize(to: State())
        unsafe outcomeMemory = .allocate(capacity: 1)
        unsafe outcomeMemory.initialize(to: Outcome())
    }

    deinit {
        unsafe stateMemory.deinitialize(count: 1)
        unsafe stateMemory.deallocate()
        unsafe outcomeMemory.deallocate()
    }

    // Safe, all: initialised with the collector and freed with it; used by one thread.
    @inline(__always) var state: State {
        _read { yield unsafe stateMemory.pointee }
        _modify { yield unsafe &stateMemory.pointee }
    }

    @usableFromInline var outcome: Outcome {
        @inlinable @inline(__always) _read { yield unsafe outcomeMemory.pointee }
        @inlinable @inline(__always) _modify { yield unsafe &outcomeMemory.pointee }
    }

    /// Binds the collector to the derived value that it is about to evaluate.
    func take(_ derived: UInt, _ place: DerivationPlace, _ level: Int, hasReader: Bool) {
        (state.derived, state.place) = (derived, place)
        (state.level, state.hasReader) = (level, hasReader)
    }

    /// Begins an evaluation after `base`. The caller must keep `base` until the evaluation ends.
    @inline(__always)
    func begin(after base: borrowing Present, watch: SelfWatch?) {
        outcome.hasBefore = !base.isNone
        outcome.before = base.words
        outcome.isSnapshot = false
        outcome.isSame = false
        state.base = base.isNone ? nil : base.set
        state.baseSequence = base.sequence
        if watch != nil { state.watch = watch }
        state.wait = Backoff()
        startAnew()
    }

    /// Begins a check of an evaluation: notes its roots as if the function had read them.
    func begin(lookingAt present: borrowing Present) {
        begin(after: .none, watch: nil)
        let set = present.set
        for index in 0..<set.count { note(rootOf: set, index, set.rootVersion(index)) }
    }

    /// Discards what was collected.
    @usableFromInline
    func restart() { startAnew() }

    @inline(__always)
    private func startAnew() {
        outcome.run &+= 1
        state.cursor = 0
        state.seen = 0
        state.seenNodes = 0
        state.isTorn = false
        outcome.retains = false
        if !state.collected.isEmpty { state.collected = Collected() }
        if !state.places.isEmpty { state.places = [:] }
        if state.ring != nil { leaveRing() }
        state.followed = nil
        guard let set = state.base, state.watch == nil, outcome.mayFollow, !set.hasOthers else { return }
        state.followed = set
        let (count, nodes) = (set.count, set.nodeCount)
        state.versions.reserve(count)
        state.stepCount = count
        state.steps = nil
        if nodes > 0 { follow(set.steps, nodes) }
    }

    private func follow(_ steps: StepWords, _ nodes: Int) {
        state.steps = steps
        state.stepCount = steps.count
        state.nodeVersions.reserve(nodes)
    }

    /// Discards what was collected, and pauses: a source has changed while the function read.
    @usableFromInline @inline(never)
    func pauseAndRestart() {
        noteFailure()
        restart()
        state.wait.pause()
    }

    /// Stops the self-watch.
    func endWatch() {
        guard let watch = state.watch else { return }
        state.watch = nil
        watch.end()
    }

    /// Ends the evaluation. Frees the buffers if this evaluation grew them beyond their usual size.
    @inline(__always)
    func clear() {
        outcome.run &+= 1
        if !state.collected.isEmpty || state.versions.isLarge || state.childVersions.isLarge || state.failures > 0
            || state.ring != nil
        {
            clearAll()
        }
    }

    @inline(never)
    private func clearAll() {
        state.failures = 0
        state.ring = nil
        endCopies()
        state.collected = Collected()
        state.versions.shrink()
        state.childVersions.shrink()
    }

    /// Whether the previous evaluation is still in its set. Call it after a pin.
    @usableFromInline var isBasePresent: Bool { state.base.map { $0.hasNow(state.baseSequence) } ?? false }
}

// MARK: - Noting

extension Collector {
    /// Notes the version of a root, if the followed set names this root next or has named it
    /// before. Otherwise stops following the set and returns false.
    @usableFromInline
    func follow(_ address: UInt, _ version: UInt64) -> Bool {
        guard let set = state.followed else { return false }
        let cursor = state.cursor
        if let steps = state.steps {
            if cursor < state.stepCount, let root = steps.root(cursor), set.address(root) == address {
                state.cursor = cursor + 1
                put(root, version)
                return true
            }
        } else if cursor < state.stepCount, set.address(cursor) == address {
            state.versions[cursor] = version
            state.cursor = cursor + 1
            state.seen = cursor + 1
            return true
        } else if let index = seenPlace(of: address, in: set) {
            put(index, version)
            return true
        }
        leaveSet()
        return false
    }

    /// Returns the index of a root of the followed set, if the function has read it before.
    private func seenPlace(of address: UInt, in set: SourceWords) -> Int? {
        if state.seen > Collected.few { return placeOfMany(address, in: set) }
        for index in 0..<state.seen where set.address(index) == address { return index }
        return nil
    }

    @inline(never)
    private func placeOfMany(_ address: UInt, in set: SourceWords) -> Int? {
        if state.places.isEmpty { for index in 0..<set.count { state.places[set.address(index)] = index } }
        return state.places[address].flatMap { $0 < state.seen ? $0 : nil }
    }

    /// Notes the versions of a derived value, if the followed set names this value and its set
    /// next. Otherwise stops following the set and returns false.
    private func follow(_ node: UInt, _ child: SourceWords, _ version: UInt64) -> Bool {
        guard state.followed != nil else { return false }
        let cursor = state.cursor
        if let steps = state.steps, cursor < state.stepCount, let read = steps.node(cursor), read.isOf(node, child) {
            state.cursor = cursor + 1
            for index in 0..<child.count { put(read.index(index), state.childVersions[index]) }
            state.nodeVersions[state.seenNodes] = version
            state.seenNodes += 1
            return true
        }
        leaveSet()
        return false
    }

    private func put(_ index: Int, _ version: UInt64) {
        if index == state.seen {
            state.versions[index] = version
            state.seen += 1
        } else if state.versions[index] != version {
            state.isTorn = true
        }
    }

    /// Stops following the set. Moves what was read so far into a collection of its own.
    func leaveSet() {
        guard let set = state.followed else { return }
        state.followed = nil
        for index in 0..<state.seen {
            _ = state.collected.place(set.address(index), .root(of: set, index))
            state.versions.reserve(index + 1)
        }
        guard state.steps != nil, let details = set.object.details else {
            state.collected.steps = (0..<state.seen).map(Int32.init)
            return
        }
        state.collected.steps = Array(details.steps[..<state.cursor])
        state.collected.nodes = Array(details.nodes[..<state.seenNodes])
    }

    /// Notes that a root was read.
    func note(_ source: any DerivationRoot, _ version: UInt64, isRetained: Bool = false) {
        let address = source.versionAddress
        state.watch?.look(at: source)
        if !follow(address, version) {
            add(address, version, isRetained && outcome.retains ? .retained(source) : .source(source))
        }
    }

    /// Notes that a root of an earlier evaluation's set was read.
    func note(rootOf set: SourceWords, _ index: Int, _ version: UInt64) {
        let address = set.address(index)
        if !follow(address, version) { add(address, version, .root(of: set, index)) }
    }

    func add(_ address: UInt, _ version: UInt64, _ origin: Origin) {
        let index = place(address, version, origin)
        state.collected.steps.append(Int32(index))
    }

    private func place(_ address: UInt, _ version: UInt64, _ origin: Origin) -> Int {
        let (index, isNew) = state.collected.place(address, origin)
        if isNew {
            state.versions.reserve(index + 1)
            state.versions[index] = version
        } else if state.versions[index] != version {
            state.isTorn = true
        }
        return index
    }

    /// Notes that a source was read whose roots are not known.
    func note(_ source: OtherSource, _ version: UInt64) {
        leaveSet()
        state.collected.steps.append(ReadStep.other)
        state.collected.others.append(source)
        state.collected.otherVersions.append(version)
    }

    /// Notes that a derived value was read, and all that it was evaluated from. Returns false if
    /// `child` has been replaced.
    func note(_ node: any DerivationNode, _ child: borrowing Present) -> Bool {
        let words = child.set
        let count = words.count
        state.childVersions.reserve(count)
        for index in 0..<count { state.childVersions[index] = words.rootVersion(index) }
        if words.hasOthers || state.watch != nil || state.followed == nil { return collect(node, child) }
        guard words.isStill(child.sequence) else { return false }
        if follow(UInt(bitPattern: ObjectIdentifier(node)), words, child.version) { return true }
        return collect(node, child)
    }

    @inline(never)
    private func collect(_ node: any DerivationNode, _ child: borrowing Present) -> Bool {
        let (words, set) = (child.set, child.set.object)
        let count = words.count
        let others = words.hasOthers ? set.details!.others : []
        let versions = others.indices.map(words.otherVersion)
        guard words.isStill(child.sequence) else { return false }
        let roots = count == 0 ? [] : node.roots(of: set)
        if let watch = state.watch { for root in roots { root.source.map(watch.look) } }
        leaveSet()
        let indices = (0..<count).map { place(words.address($0), state.childVersions[$0], .copied(roots[$0])) }
        let index = state.collected.nodes.count
        state.collected.steps.append(ReadStep.node(index))
        state.nodeVersions.reserve(index + 1)
        state.nodeVersions[index] = child.version
        state.collected.nodes.append(NodeStep(node, set, indices))
        state.collected.others += others
        state.collected.otherVersions += versions
        return true
    }
}
