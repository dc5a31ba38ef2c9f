// SPDX-License-Identifier: Apache-2.0

/// Which version of the left and which of the right are one and the same change: how the two directions of a pair settle
/// conflicts alike.
///
/// Both directions may be under way on any number of threads. Each applies a change that is later than the agreed version of its own side,
/// and agrees in the same step, under the lock that the other side's changes take: on that version, and on the new one
/// that it makes there. Both versions only grow. Of two changes that meet, the first to be agreed wins: the other one was there before, and
/// is older than what is agreed now.
///
/// **The echo ends.** A change that the pair makes is agreed before anybody hears of it, so that the direction back refuses it. Every
/// change of a setter's makes at most one change on the other side, without a loop or a retry.
///
/// **Both sides end alike.** When all setters have returned, every change has been offered to the other side, and whether it was
/// applied or refused, the agreed version of its own side was this one or a later one afterwards. So each side is at its agreed
/// version. And the two are agreed together, one made of the other: they are alike.
///
/// **No last update is lost.** A change is refused only because of another one whose setter had not returned when it was made. One that
/// begins after all others have returned is later than what is agreed, and nothing that comes afterwards is older and applied.
@usableFromInline
internal final class Agreement: @unchecked Sendable {
    // Unchecked: both versions are guarded by `lock`.

    /// Taken inside a property's lock; nothing is taken inside it.
    private let lock = Lock()

    /// One more than the agreed version of the left; 0 before there is one.
    private var left: UInt64 = 0
    private var right: UInt64 = 0

    @usableFromInline
    init() {}

    /// Whether the right may not know this version of the left yet.
    @usableFromInline
    func isNews(left version: UInt64) -> Bool { lock.withLock { left <= version } }

    /// Whether the left may not know this version of the right yet.
    @usableFromInline
    func isNews(right version: UInt64) -> Bool {
        lock.withLock { right <= version } || mutant("a binding echoes")
    }

    /// Decides on a change of the left; the right is at `present`. Under the right's lock, with the change made if this is true.
    @usableFromInline
    func apply(left version: UInt64, toRightAt present: UInt64) -> Bool {
        lock.withLock {
            guard left <= version else { return false }
            left = version + 1
            if !mutant("a pair agrees on one side alone") { right = present + 2 }
            return true
        }
    }

    /// Decides on a change of the right; the left is at `present`. Under the left's lock, with the change made if this is true.
    @usableFromInline
    func apply(right version: UInt64, toLeftAt present: UInt64) -> Bool {
        lock.withLock {
            guard right <= version || mutant("a binding echoes") else { return false }
            (left, right) = (present + 2, version + 1)
            return true
        }
    }

    /// Agrees on two versions without a change: they are one change, which has come the other way round.
    @usableFromInline
    func note(left version: UInt64, right other: UInt64) {
        lock.withLock { (left, right) = (max(left, version + 1), max(right, other + 1)) }
    }
}
