// SPDX-License-Identifier: Apache-2.0

/// The bits of an observer's mark.
@usableFromInline
internal enum ObserverState {
    /// The observation has not ended.
    @usableFromInline static var active: UInt32 { 1 }
    /// The closure is destroyed.
    @usableFromInline static var finished: UInt32 { 2 }
    /// The observation ends with its owner.
    @usableFromInline static var ownerBound: UInt32 { 4 }
    /// The observer is told of a change before it is made, too.
    @usableFromInline static var hearsPrior: UInt32 { 8 }
    /// The observer is the library's own: it wires a path.
    @usableFromInline static var isWiring: UInt32 { 64 }
    /// It wires a path that goes on: what it leads to changes with its property.
    @usableFromInline static var isLink: UInt32 { 128 }
    /// It posts changes to a mailbox, in the order of their versions: what it is called with is a `Posting`.
    @usableFromInline static var isOrdered: UInt32 { 256 }
    /// What it posts is delivered on the thread that posts it: in its turn, among the inline callbacks.
    @usableFromInline static var isSerial: UInt32 { 512 }
    /// A listener waits for the end.
    static var hasListeners: UInt32 { 1024 }
    /// It is a `VersionedObserver`.
    @usableFromInline static var isVersioned: UInt32 { 4096 }
    /// The source was gone when the observer was made: it owns a reference to the core.
    static var ownsCore: UInt32 { 2048 }
    /// Where the `ObservationEnd` stands.
    @usableFromInline static var endShift: UInt32 { 16 }
}
