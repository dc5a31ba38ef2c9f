// SPDX-License-Identifier: Apache-2.0

// A *set* is a `DependencySet`: it names the sources that evaluations of a derived value have read,
// and stores the last of these evaluations.

/// Notes that show why the function of a derived value last ran: they have the versions that were
/// read before that run. The library takes notes while it records the process's observations. The
/// notes keep the set of the earlier evaluation, until the first evaluation after the recording.
internal final class RunNotes: @unchecked Sendable {
    // Unchecked: constants; any thread may use a set.

    /// The number of the recording. The notes of an earlier recording are not continued.
    let recording: UInt
    /// The number of the function's runs during this recording whose results were published.
    let runs: Int
    /// The evaluation before the run; nil if there was none.
    let before: ReadVersions?

    init(_ recording: UInt, after earlier: RunNotes?, _ before: ReadVersions?) {
        (self.recording, self.before) = (recording, before)
        runs = 1 + (earlier?.recording == recording ? earlier!.runs : 0)
    }
}

/// The versions that an evaluation has read, in the order of its set.
internal struct ReadVersions {
    let set: DependencySet
    let roots: [UInt64]
    let nodes: [UInt64]
    let others: [UInt64]

    /// Copies the versions of an evaluation. The caller must hold the derived value's lock, and the
    /// evaluation must be the present one.
    init(locked present: borrowing Present) {
        let words = present.set
        set = words.object
        roots = (0..<words.count).map(words.rootVersion)
        nodes = (0..<words.nodeCount).map(words.nodeVersion)
        others = (set.details?.others ?? []).indices.map(words.otherVersion)
    }
}

// MARK: - Taking notes

extension DerivationNode {
    /// Takes notes about a run whose result is about to be published, unless the function did not
    /// run because nothing that it reads has changed. Drops the notes of another recording. The
    /// caller must hold `lock`, and must release `collector.state.notes` after the unlock.
    ///
    /// - Parameter recording: The number of the recording that goes on; 0 for none.
    @inline(never)
    final func noteRunLocked(
        of collector: Collector,
        after base: borrowing Present,
        in recording: UInt
    ) {
        if recording == 0 || collector.outcome.isSame && collector.readsTheSame {
            if notes?.recording != recording { collector.state.notes = notes.take() }
            return
        }
        let before = base.isNone ? nil : ReadVersions(locked: base)
        (collector.state.notes, notes) = (notes, RunNotes(recording, after: notes, before))
    }
}
