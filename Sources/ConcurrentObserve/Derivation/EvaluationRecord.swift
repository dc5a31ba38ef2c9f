// SPDX-License-Identifier: Apache-2.0

/// What is known of one evaluation of a derived value, but for its result. Never changed: a later
/// evaluation replaces it.
@safe internal class EvaluationRecord: @unchecked Sendable {
    // Unchecked: constants only, here and in the subclass.

    /// The number of the result among the results of the derived value that differ.
    let version: UInt64
    let sources: SourceSet
    /// The roots' versions, as they were read, and the others'.
    let versions: [UInt64]
    let otherVersions: [UInt64]
    /// What the function has read, in order. Empty if that is roots and others alone: then a change
    /// of one of them is a change of what the function reads.
    let steps: [Step]
    /// Whether there was an evaluation.
    private let exists: Bool
    /// Where the roots' versions are, each with the one that was read: beside each other, so that a read counts no reference.
    private let checks: UnsafeMutablePointer<Check>
    private let checkCount: Int

    private struct Check { let address: UInt, version: UInt64 }

    /// One thing that the function has read.
    enum Step {
        /// The index of a root, of another source.
        case root(Int), other(Int)
        /// A derived value, and the version of its result. Not retained: the function has made it, or has it.
        case derived(WeakNode, UInt64)
    }

    struct WeakNode {
        weak var node: (any DerivationNode)?
    }

    init(_ version: UInt64, _ collected: Collector.Collected) {
        self.version = version
        (sources, versions, otherVersions) = (collected.sources, collected.versions, collected.otherVersions)
        steps = collected.steps
        exists = true
        checkCount = versions.count
        // Safe: initialised here, freed with the object.
        unsafe checks = .allocate(capacity: max(checkCount, 1))
        for index in 0..<checkCount {
            unsafe (checks + index).initialize(
                to: Check(address: sources.addresses[index], version: versions[index])
            )
        }
    }

    deinit { unsafe checks.deallocate() }

    private init() {
        (version, versions, otherVersions, steps) = (0, [], [], [])
        sources = SourceSet([], [], [])
        (exists, checkCount) = (false, 0)
        unsafe checks = .allocate(capacity: 1)
    }

    /// That of a derived value that was never read.
    static let none = EvaluationRecord()

    /// Whether there was no evaluation.
    var isNone: Bool { !exists }

    /// Whether the result is the function's at this moment: all that it was made of has the versions
    /// that were read. Under no lock: other sources run code of their own.
    @inline(__always)
    var isCurrent: Bool {
        guard exists else { return false }
        for index in 0..<checkCount {
            // Safe: below the count; the object's own.
            let check = unsafe checks[index]
            if SourceSet.version(at: check.address) != check.version { return false }
        }
        return otherVersions.isEmpty || areOthersCurrent
    }

    @inline(never)
    private var areOthersCurrent: Bool {
        zip(sources.others, otherVersions).allSatisfy { source, version in source.version == version }
    }
}

/// An evaluation with its result.
internal final class Evaluation<Value: Sendable>: EvaluationRecord, @unchecked Sendable {
    // Unchecked: constants only.
    let value: Value

    init(_ value: Value, _ version: UInt64, _ collected: Collector.Collected) {
        self.value = value
        super.init(version, collected)
    }
}

/// A derived value, whatever its type.
internal protocol DerivationNode: AnyObject, Sendable {
    /// The evaluation that is current, after a new one if there was none.
    func currentRecord() -> EvaluationRecord
}
