// SPDX-License-Identifier: Apache-2.0

/// What a combination keeps of one member, whatever its type.
internal class AnyMemberSlot: @unchecked Sendable {
    // Unchecked: guarded by the combination's lock, in the subclass, too.
    init() {}

    /// Whether changes that come before the staged one have not been taken. Under the lock.
    var isBehind: Bool { false }

    /// Takes the value that the staged change has replaced. Under the lock.
    ///
    /// - Parameter replaced: Receives what it replaces here, to be destroyed under no lock. (P5)
    func takeOld(_ replaced: inout [Any]) {}

    /// Takes the staged value. As ``takeOld(_:)``.
    func takeStaged(_ replaced: inout [Any]) {}
}

/// The latest value of one member.
internal final class MemberSlot<Member: Sendable>: AnyMemberSlot, @unchecked Sendable {
    // Unchecked: guarded by the combination's lock; `staged` by that of the member's changes.
    private var latest: (value: Member, version: UInt64)?
    /// A change of a commit that is being published.
    private var staged: Change<Member>?

    /// Whether no value has come. Under the lock.
    var isEmpty: Bool { latest == nil }

    /// Under the lock, if it is not empty.
    var value: Member { latest!.value }

    /// Takes a change, unless a later one was taken. Under the lock.
    ///
    /// - Parameter change: Receives what was replaced, for the caller to destroy under no lock. (P5)
    func take(_ change: inout (value: Member, version: UInt64)?) -> Bool {
        guard isLater(change!.version) else { return false }
        swap(&latest, &change)
        return true
    }

    private func isLater(_ version: UInt64) -> Bool {
        #if INSTRUMENTED
        if mutant(.aCombinationTakesAnOlderChange) { return true }
        #endif
        return latest.map { version > $0.version } ?? true
    }

    // MARK: Commits

    /// Keeps a change until all of the commit's are there. Under the lock of the member's changes, which the commit holds until they
    /// are taken.
    func stage(_ change: Change<Member>) { staged = change }

    override var isBehind: Bool {
        guard let staged, let latest else { return false }
        return latest.version + 1 < staged.version
    }

    override func takeOld(_ replaced: inout [Any]) {
        guard let staged, let old = staged.old else { return }
        replace(by: (old, staged.version - 1), &replaced)
    }

    override func takeStaged(_ replaced: inout [Any]) {
        guard let change = staged.take() else { return }
        replaced.append(change)
        replace(by: (change.new, change.version), &replaced)
    }

    private func replace(by value: (Member, UInt64), _ replaced: inout [Any]) {
        if let latest { replaced.append(latest.value) }
        latest = value
    }
}
