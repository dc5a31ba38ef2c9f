// SPDX-License-Identifier: Apache-2.0

/// Where a path puts its changes that are delivered later or elsewhere: a mailbox, in the order of the path's versions.
///
/// A change of the last property is put there under the lock that all its changes take, and a replacement by whoever wires the path: no
/// callback stands between a change and the mailbox. (P7)
@usableFromInline
internal struct PathPosting<Value: Sendable>: Sendable {
    /// Takes a change. Runs no user code.
    let put: @Sendable (Change<Value>) -> Void
    /// Called after each, under no lock: wakes whoever empties the mailbox elsewhere.
    let wake: @Sendable () -> Void
    /// Called after that, under no lock, where callbacks have their turn: sees to the rest.
    let attend: @Sendable () -> Void
    /// Whether that delivers the change, on the calling thread.
    let isSerial: Bool

    /// What the observer of the last property is, beside what it hears.
    var marks: UInt32 { ObserverState.isOrdered | (isSerial ? ObserverState.isSerial : 0) }
}
