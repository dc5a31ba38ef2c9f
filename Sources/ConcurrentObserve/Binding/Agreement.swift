// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Records which versions of two properties are the same change. The two properties are a *pair*:
/// they are bound in both directions. Both directions decide conflicts by this record, and
/// therefore decide alike.
///
/// Both directions may run on any number of threads. Each direction applies a change of its own
/// side if the change is later than the agreed version of that side. In the same step, under the
/// mutation lock of the other side, it agrees on that version and on the new version that it makes
/// there. Both agreed versions only grow. If two changes meet, the first to be agreed wins. The
/// other change is then older than the version that is now agreed for its side, and is refused.
///
/// **The echo ends.** A change that the pair makes is agreed before any observer receives it, so
/// the opposite direction refuses it. Every change that a setter makes causes at most one change on
/// the other side, without a loop or a retry.
///
/// **Both sides end alike.** When all setters have returned, every change has been offered to the
/// other side. Afterwards the agreed version of its own side was this version or a later one,
/// whether the change was applied or refused. Each side is therefore at its agreed version. The two
/// versions were agreed together, and the value of one was made from the other. Therefore the sides
/// are alike.
///
/// **No last update is lost.** A change is refused only because of another change whose setter had
/// not returned when the refused change was made. A change that begins after all others have
/// returned is later than the agreed version. No older change is applied after it.
///
/// **A pair has one agreement**, however often it is bound, and from either side: see `Agreements`.
/// Each binding then offers each change; the first offer is applied, and the others are refused.
/// With two agreements, one of two changes that meet could win on one side, and the other on the
/// other side.
@usableFromInline
internal final class Agreement: @unchecked Sendable {
    // Unchecked: the mutable state is guarded by `lock`, or atomic.

    /// One of the two properties, in the order in which the first binding of the pair named them.
    @usableFromInline
    enum Side: Sendable {
        case first, second

        @usableFromInline var other: Side { self == .first ? .second : .first }
    }

    /// The core (`RegistryCore`) of the first side's property. The two cores distinguish the pair
    /// from a later pair at the same addresses. They are retained, which does not prolong a
    /// property's life. (P11)
    private let firstCore: RegistryCore
    /// The core of the second side's property.
    private let secondCore: RegistryCore

    /// The key of this agreement in `Agreements`.
    let pair: Agreements.Pair

    /// Guards the agreed versions and `transforms`. A thread may take this lock while it holds a
    /// property's mutation lock. It takes no lock inside this lock.
    private let lock = SourceLock()

    /// One more than the agreed version of the first side; 0 before there is an agreed version. It
    /// is written under `lock`.
    private let first = Atomic<UInt64>(0)
    /// One more than the agreed version of the second side; 0 before there is an agreed version. It
    /// is written under `lock`.
    private let second = Atomic<UInt64>(0)

    /// Whether a binding of the pair has transforms. `lock` guards it.
    private var transforms = false

    init(between first: RegistryCore, and second: RegistryCore) {
        (firstCore, secondCore) = (first, second)
        pair = Agreements.Pair(first, second)
    }

    /// Returns the side of the property that has this core.
    func side(of core: RegistryCore) -> Side { core === firstCore ? .first : .second }

    /// Records that a binding of the pair has transforms.
    func noteTransforms() {
        lock.withLock { transforms = true }
    }

    /// Whether the other side may still lack this version of `side`. False if the version is not
    /// later than the agreed version.
    @usableFromInline
    func isNews(_ version: UInt64, of side: Side) -> Bool {
        // Relaxed: a short cut. Agreed versions only grow, so false is final. If true, `apply`
        // decides again under `lock`.
        return agreed(side) <= version
    }

    /// Decides whether the caller must pass a change of `side` on to the other side, which is at
    /// version `present`. The caller must hold the other side's mutation lock.
    ///
    /// - Parameters:
    ///   - since: The version that the same change gave the other side earlier, if the change comes
    ///     back through a cycle of bindings, or if a path has shown that version; otherwise nil. If
    ///     the other side has changed since then, and the pair has not agreed on its present
    ///     version, the function returns false, and agrees on `version` and `since`.
    ///   - isInitial: True if a binding begins with this version. The function then also returns
    ///     true for the version that the pair has agreed on, in two cases. First, if a binding of
    ///     the pair has transforms, because it may have made another value from the version.
    ///     Second, if the other side has changed since the agreement, because a binding that has
    ///     ended may not have passed that change on.
    ///
    /// - Returns: True if the caller must make the change.
    @usableFromInline
    func apply(
        _ version: UInt64,
        of side: Side,
        toOtherAt present: UInt64,
        since: UInt64?,
        isInitial: Bool
    ) -> Bool {
        lock.withLock {
            if let since, present != since, agreed(side.other) <= present {
                noteLocked(version, of: side, as: since)
                return false
            }
            let isNews = agreed(side) <= version
            let isTakenAgain =
                isInitial && agreed(side) == version + 1
                && (transforms || agreed(side.other) <= present)
            guard isNews || isTakenAgain else { return false }
            agreeLocked(version + 1, on: side)
            agreeLocked(present + 2, on: side.other)
            return true
        }
    }

    /// Agrees that `version` of `side` and the version `other` of the other side are the same
    /// change. The change has reached the other side through other bindings of a cycle, so none is
    /// made.
    @usableFromInline
    func note(_ version: UInt64, of side: Side, as other: UInt64) {
        lock.withLock { noteLocked(version, of: side, as: other) }
    }

    private func noteLocked(_ version: UInt64, of side: Side, as other: UInt64) {
        agreeLocked(max(agreed(side), version + 1), on: side)
        agreeLocked(max(agreed(side.other), other + 1), on: side.other)
    }

    private func agreed(_ side: Side) -> UInt64 {
        // Relaxed: read under `lock`, or as the short cut in `isNews`.
        side == .first ? first.load(ordering: .relaxed) : second.load(ordering: .relaxed)
    }

    private func agreeLocked(_ version: UInt64, on side: Side) {
        // Relaxed: written under `lock`.
        if side == .first {
            first.store(version, ordering: .relaxed)
        } else {
            second.store(version, ordering: .relaxed)
        }
    }
}
