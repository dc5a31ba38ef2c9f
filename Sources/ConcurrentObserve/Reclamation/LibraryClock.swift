// SPDX-License-Identifier: Apache-2.0

/// The time by which the library's threads decide.
internal enum LibraryClock {
    static var now: ContinuousClock.Instant {
        return .now
    }
}
