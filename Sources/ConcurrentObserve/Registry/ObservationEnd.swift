// SPDX-License-Identifier: Apache-2.0

/// The reason why an observation ended. `first(where:)` throws it if the observation ended before a
/// value was accepted.
public enum ObservationEnd: UInt32, Error, Sendable, Equatable {
    /// `cancel()` ended it, or the release of its token, or a removal of all observations of its
    /// source.
    case cancelled = 0
    /// Its source was deinitialised.
    case sourceDeleted = 1
    /// Its owner was deinitialised.
    case ownerDeleted = 2
}
