// SPDX-License-Identifier: Apache-2.0

/// The time by which the library's threads decide. The explorer replaces it: its time passes only
/// when nothing else can happen.
internal enum LibraryClock {
    // Not a hook with a stub, as elsewhere: an optional `Instant` that is always nil costs a hundred
    // instructions. The type's layout is the standard library's.

    static var now: ContinuousClock.Instant {
        #if INSTRUMENTED
        if let explored = exploredNow() { return explored }
        #endif
        return .now
    }

    /// Whether the calling thread is the explorer's, and `now` its time.
    static var isExplored: Bool {
        #if INSTRUMENTED
        return exploredNow() != nil
        #else
        return false
        #endif
    }

    /// How long a thread of the library that has nothing to do sleeps at most, if it is to wake by
    /// itself every `period`; nil, for ever, in a process of the explorer's.
    static func sleep(_ period: Duration) -> Duration? { isExploredProcess ? nil : period }
}
