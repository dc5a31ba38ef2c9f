// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// Whether all values read were present at one moment: they still are, or they are copies that
    /// were taken together. The second half of a double collect. (P23)
    @usableFromInline
    var isConsistent: Bool {
        return isStill
    }

    /// Whether all values read were present at one moment, for a function that has read all that it
    /// needs. This holds if it follows a set and has read at most one root, at one version: that
    /// version was present, even if the root has changed since.
    @usableFromInline
    var isSnapshotConsistent: Bool {
        state.seen <= 1 && state.followed != nil && !state.isTorn || isConsistent
    }

    /// Whether the function has read the same versions as the previous evaluation. Only for a
    /// function that has read all that it needs. Always false if it reads no derived value.
    @usableFromInline var readsTheSame: Bool {
        guard let set = state.followed, let steps = state.steps, state.cursor == state.stepCount else { return false }
        for index in 0..<state.seenNodes where state.nodeVersions[index] != set.nodeVersion(index) { return false }
        guard state.seenNodes < state.stepCount else { return true }
        for step in 0..<state.stepCount {
            if let root = steps.root(step), state.versions[root] != set.rootVersion(root) { return false }
        }
        return true
    }

    /// Whether all values read so far were present at one moment.
    var isStill: Bool { state.copies != nil && isOfCopies || isPresent }

    /// Whether all values read so far came from the copies.
    var isOfCopies: Bool { !state.isTorn && state.copies?.cover(state.collected, state.versions) == true }

    /// Whether all sources read so far still have the versions that were read.
    var isPresent: Bool {
        if state.isTorn { return false }
        guard let set = state.followed else { return state.collected.isStill(state.versions) }
        for index in 0..<state.seen where SourceSet.version(at: set.address(index)) != state.versions[index] {
            return false
        }
        return true
    }

    /// Whether the evaluation has read the same sources as the previous one, in the same order.
    var hasReadItsSet: Bool { state.followed != nil && state.cursor == state.stepCount }

    /// Returns the set for what was read: one that the derived value keeps, or a new one. Returns
    /// nil if it is the set of the previous evaluation.
    func newSet(_ derived: borrowing DerivationCell) -> SourceSet? {
        if state.followed != nil { leaveSet() }
        let found = derived.find(state.collected)
        if let found, let base = state.base, found.words == base { return nil }
        return found ?? state.collected.makeSet(isSnapshot: outcome.retains)
    }

    /// Stores the result, its version and the versions that were read in `set`. Called inside
    /// `SourceWords.store(_:)`.
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

    /// The roots that the function has read, after a run with `outcome.isListing`.
    var listed: [RootReference] { state.collected.origins.map(\.root) }
}
