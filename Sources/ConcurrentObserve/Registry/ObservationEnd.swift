// SPDX-License-Identifier: Apache-2.0

/// Why an observation ended. Thrown by `first(where:)` if that was before a value was accepted.
public enum ObservationEnd: UInt32, Error, Sendable, Equatable {
    /// By `cancel()`, by the release of its token, or with all others of its source.
    case cancelled = 0
    /// Its source was deinitialised.
    case sourceDeleted = 1
    /// Its owner was deinitialised.
    case ownerDeleted = 2
}
