// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// Whether all that was read was there together: it is there still. The second half of a double
    /// collect. (P23)
    @usableFromInline
    var isConsistent: Bool {
        return isStill
    }

    /// Whether all that was read was there together, for a function that has read all that it needs: what one root had at one version
    /// was, though it may not be there any more.
    @usableFromInline
    var isSnapshotConsistent: Bool {
        state.seen <= 1 && state.followed != nil && !state.isTorn || isConsistent
    }

    /// Whether all that was read is what the evaluation before has read. For a function that has read all that it needs.
    @usableFromInline var readsTheSame: Bool {
        guard let set = state.followed, let steps = state.steps, state.cursor == state.stepCount else { return false }
        for index in 0..<state.seenNodes where state.nodeVersions[index] != set.nodeVersion(index) { return false }
        guard state.seenNodes < state.stepCount else { return true }
        for step in 0..<state.stepCount {
            if let root = steps.root(step), state.versions[root] != set.rootVersion(root) { return false }
        }
        return true
    }

    /// Whether all that was read so far was there together.
    var isStill: Bool { state.copies != nil && isOfCopies || isPresent }

    /// Whether all that was read so far was read of the copies.
    var isOfCopies: Bool { !state.isTorn && state.copies?.cover(state.collected, state.versions) == true }

    /// Whether all that was read so far is as it was.
    var isPresent: Bool {
        if state.isTorn { return false }
        guard let set = state.followed else { return state.collected.isStill(state.versions) }
        for index in 0..<state.seen where SourceSet.version(at: set.address(index)) != state.versions[index] {
            return false
        }
        return true
    }

    /// Whether what was read is what the evaluation before has read.
    var hasReadItsSet: Bool { state.followed != nil && state.cursor == state.stepCount }

    /// The set of what was read, unless it is that of the evaluation before.
    func newSet(_ derived: borrowing DerivationCell) -> SourceSet? {
        if state.followed != nil { leaveSet() }
        let found = derived.find(state.collected)
        if let found, let base = state.base, found.words == base { return nil }
        return found ?? state.collected.makeSet(isSnapshot: outcome.retains)
    }

    /// Stores the evaluation in its set. Inside `SourceWords.store(_:)`.
    @inline(__always)
    func store(in set: SourceWords, _ version: UInt64, _ words: Latch.Words) {
        set.setWord(SourceSet.Place.first, UInt64(words.first))
        set.setWord(SourceSet.Place.second, UInt64(words.second))
        set.setWord(SourceSet.Place.version, version)
        let (count, nodes) = (set.count, set.nodeCount)
        for index in 0..<count { set.setWord(SourceSet.Place.roots + 2 * index + 1, state.versions[index]) }
        for index in 0..<nodes { set.setWord(SourceSet.Place.roots + 2 * count + index, state.nodeVersions[index]) }
        guard set.hasOthers else { return }
        for index in state.collected.otherVersions.indices {
            set.setWord(SourceSet.Place.roots + 2 * count + nodes + index, state.collected.otherVersions[index])
        }
    }

    /// The roots that were read by a function that was to read alone.
    var listed: [RootReference] { state.collected.origins.map(\.root) }
}
