// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Which versions of a pair's two sides are one and the same change: how the two directions settle
/// conflicts alike.
///
/// Both directions may be under way on any number of threads. Each applies a change that is later than the agreed version of its own side,
/// and agrees in the same step, under the lock that the other side's changes take: on that version, and on the new one
/// that it makes there. Both versions only grow. Of two changes that meet, the first to be agreed wins: the other one was there before, and
/// is older than what is agreed now.
///
/// **The echo ends.** A change that the pair makes is agreed before any observer receives it, so that the direction back refuses it. Every
/// change of a setter's makes at most one change on the other side, without a loop or a retry.
///
/// **Both sides end alike.** When all setters have returned, every change has been offered to the other side, and whether it was
/// applied or refused, the agreed version of its own side was this one or a later one afterwards. So each side is at its agreed
/// version. And the two are agreed together, one made of the other: they are alike.
///
/// **No last update is lost.** A change is refused only because of another one whose setter had not returned when it was made. One that
/// begins after all others have returned is later than what is agreed, and nothing that comes afterwards is older and applied.
///
/// **A pair has one agreement**, however many calls bind it and from whichever ends: see
/// `Agreements`. Each binding then offers each change; the first offer is applied, and the others
/// are refused. Two agreements would let one of two changes that meet win on each side.
@usableFromInline
internal final class Agreement: @unchecked Sendable {
    // Unchecked: what is mutable is guarded by `lock`, or atomic.

    /// One of the two properties, in the order in which the first binding of the pair named them.
    @usableFromInline
    enum Side: Sendable {
        case first, second

        @usableFromInline var other: Side { self == .first ? .second : .first }
    }

    /// What the properties share with their observers, which distinguishes the pair from a later one at the
    /// same addresses: a property's life is not prolonged. (P11)
    private let firstCore: RegistryCore
    private let secondCore: RegistryCore

    /// Under which `Agreements` has this one.
    let pair: Agreements.Pair

    /// Taken inside a property's lock; nothing is taken inside it. No thread holds it while the process forks: the other side may
    /// be one that no thread was changing. (P18)
    private let lock = SourceLock()

    /// One more than the agreed version of the first side; 0 before there is one. Written under the lock.
    private let first = Atomic<UInt64>(0)
    private let second = Atomic<UInt64>(0)

    /// Whether a binding of the pair has made values by transforms. Guarded.
    private var transforms = false

    init(between first: RegistryCore, and second: RegistryCore) {
        (firstCore, secondCore) = (first, second)
        pair = Agreements.Pair(first, second)
    }

    /// Which side a property is.
    func side(of core: RegistryCore) -> Side { core === firstCore ? .first : .second }

    /// Notes that a binding of the pair makes values by transforms.
    func noteTransforms() {
        lock.withLock { transforms = true }
    }

    /// Whether the other side may not know this version of a side yet.
    @usableFromInline
    func isNews(_ version: UInt64, of side: Side) -> Bool {
        // Relaxed: a short cut; `apply` and `note` decide, under the lock.
        return agreed(side) <= version
    }

    /// Decides on a change of a side; the other one is at `present`. Under the other side's lock,
    /// with the change made if this is true.
    ///
    /// - Parameter isInitial: A binding begins with this version. Where another binding of the pair may have made another value of it,
    ///   the other side takes the value, agreed or not; so it does if it has been changed since it was agreed: a binding that
    ///   ended before may have left that change where it was.
    @usableFromInline
    func apply(_ version: UInt64, of side: Side, toOtherAt present: UInt64, isInitial: Bool) -> Bool {
        lock.withLock {
            guard accepts(version, of: side, toOtherAt: present, isInitial: isInitial) else { return false }
            agree(version + 1, on: side)
            agreeOnOther(present + 2, than: side)
            return true
        }
    }

    /// Agrees on two versions without a change: they are one change, which has come the other way
    /// round.
    @usableFromInline
    func note(_ version: UInt64, of side: Side, as other: UInt64) {
        lock.withLock {
            agree(max(agreed(side), version + 1), on: side)
            agree(max(agreed(side.other), other + 1), on: side.other)
        }
    }

    // Under the lock, all of these.

    private func accepts(_ version: UInt64, of side: Side, toOtherAt present: UInt64, isInitial: Bool) -> Bool {
        let agreed = agreed(side)
        if agreed <= version { return true }
        return isInitial && agreed == version + 1 && (transforms || self.agreed(side.other) <= present)
    }

    private func agreeOnOther(_ version: UInt64, than side: Side) {
        agree(version, on: side.other)
    }

    private func agreed(_ side: Side) -> UInt64 {
        // Relaxed: under the lock, or a short cut.
        side == .first ? first.load(ordering: .relaxed) : second.load(ordering: .relaxed)
    }

    private func agree(_ version: UInt64, on side: Side) {
        // Relaxed: under the lock.
        if side == .first {
            first.store(version, ordering: .relaxed)
        } else {
            second.store(version, ordering: .relaxed)
        }
    }
}
