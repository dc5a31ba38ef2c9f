// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *set* is a `DependencySet`: it names the
// sources that evaluations of a derived value have read, and stores the last of these evaluations.
// While a collector *follows* the set of the previous evaluation, the function reads the same
// sources in the same order. The comment at the top of `Derived.swift` explains this folder.

extension Collector {
    /// Whether all values read so far were present at one moment. This is so if they are still
    /// present, or if they are copies that were taken together. This check is the second half of a
    /// double collect, which reads all versions twice. (P23)
    @usableFromInline
    var isConsistent: Bool {
        if isOnCopies { return isOnLatestCopies && (isOfCopies || isCurrent) }
        return isCurrent
    }

    /// Whether all values read were present at one moment. Use it only for a function that has read
    /// all that it needs. It is also true if the collector follows a set and has read at most one
    /// root, at one version: that version was present, even if the root has changed since.
    @usableFromInline
    var isSnapshotConsistent: Bool {
        state.versions.count <= 1 && state.followed != nil && !state.isTorn || isConsistent
    }

    /// Whether all values read so far came from the copies.
    var isOfCopies: Bool { !state.isTorn && state.copies?.cover(state.collected, state.versions) == true }

    /// Whether all sources read so far still have the versions that were read.
    var isCurrent: Bool {
        if state.isTorn { return false }
        for index in state.versions.indices {
            let address = state.followed?.address(index) ?? state.collected.addresses[index]
            if DependencySet.version(at: address) != state.versions[index] { return false }
        }
        return state.collected.others.isEmpty || state.collected.areOthersCurrent
    }

    /// Moves this evaluation to copies, if its derived value is a member of the ring to which `set`
    /// belongs. Returns whether it is.
    @inline(never)
    func joinRing(_ set: DependencySet) -> Bool {
        guard set.details!.ringMembers.contains(state.derived) else { return false }
        Collector.moveToCopies([self])
        return true
    }

    /// Whether the evaluation has read the same sources as the previous one, in the same order.
    var hasReadItsSet: Bool {
        guard let set = state.followed else { return false }
        return state.cursor == (state.steps.isEmpty ? set.count : state.steps.count)
    }

    /// Whether the function has read the same versions as the previous evaluation. Use it only for
    /// a function that has read all that it needs. Always false if it reads no derived value.
    @usableFromInline
    var readsTheSame: Bool {
        guard !state.steps.isEmpty, hasReadItsSet, let set = state.followed else { return false }
        return state.nodeVersions.indices.allSatisfy { state.nodeVersions[$0] == set.nodeVersion($0) }
            && state.steps.allSatisfy { $0 < 0 || state.versions[Int($0)] == set.rootVersion(Int($0)) }
    }

    /// Whether the previous evaluation is still stored in its set. The caller must first pin the
    /// object that the words of that evaluation reference.
    @usableFromInline var isBasePresent: Bool { state.base.map { $0.isStill(state.baseSequence) } ?? false }
}

// MARK: - The set

extension Collector {
    /// Returns a set that names the sources that were read: one that `derived` keeps, or a new one.
    /// Stops following the previous set.
    func otherSet(_ derived: DerivationNode) -> DependencySet {
        leaveSet()
        let ringMembers = state.copies?.ringMembers ?? []
        if ringMembers.isEmpty, let found = derived.find(state.collected) { return found }
        return state.collected.makeSet(isSnapshot: outcome.retains, ringMembers)
    }

    /// Stores in `set` the words of the result, the result's `version`, and the versions that were
    /// read. The caller must be inside `DependencyWords.store(_:)`.
    @inline(__always)
    func store(in set: DependencyWords, _ version: UInt64, _ words: Latch.Words) {
        set.setWord(DependencySet.Place.first, UInt64(words.first))
        set.setWord(DependencySet.Place.second, UInt64(words.second))
        set.setWord(DependencySet.Place.version, version)
        let (count, nodes) = (set.count, set.nodeCount)
        for index in 0..<count { set.setWord(DependencySet.Place.roots + 2 * index + 1, state.versions[index]) }
        for index in 0..<nodes { set.setWord(DependencySet.Place.roots + 2 * count + index, state.nodeVersions[index]) }
        guard set.hasOthers else { return }
        for (index, version) in state.collected.otherVersions.enumerated() {
            set.setWord(DependencySet.Place.roots + 2 * count + nodes + index, version)
        }
    }
}
