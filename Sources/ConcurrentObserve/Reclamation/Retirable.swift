// SPDX-License-Identifier: Apache-2.0

/// An object that passes may still be using when it is replaced or ended: retired first, reclaimed
/// when no thread can be using it.
///
/// The link is part of the object, so that retiring, and with it cancelling, needs no memory.
@usableFromInline
internal class Retirable: @unchecked Sendable {
    // Unchecked: `link` belongs to the owner of the item: the retiring thread, then a list, then
    // the reclamation thread.

    /// The address of the next item. The last item of a stack has 0; that of the last item of a
    /// list means nothing.
    final var link: UInt = 0

    /// What keeps the item from being reclaimed. Always the same.
    var hold: Hold { preconditionFailure("a retired item says what holds it") }

    /// Whether reclaiming the item runs user code, and so belongs on one of the `DeinitThreads`.
    /// Always the same.
    var runsUserCode: Bool { false }

    /// Names the source of an item that runs user code, by an address. It is compared and never
    /// followed, since another source may have it one day. Items of one source wait for each other;
    /// they do not wait for items of other sources. Always the same once the item is retired.
    var source: UInt { preconditionFailure("a retired item that runs user code says whose it is") }

    /// Called once for each retirement, when nothing holds the item any more: on a deinit thread if
    /// it runs user code, otherwise on the reclamation thread.
    ///
    /// It destroys everything that user code can notice. The object itself may be released later,
    /// on any thread.
    func reclaim() { preconditionFailure("a retired item can be reclaimed") }

    /// Releases a reference to an item that is reclaimed. A class of which many are made may keep
    /// the item for reuse instead, if the reference was the last.
    class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe reference.release() }

    /// Called in the child of a fork that caught another thread in the middle of `reclaim`, which
    /// no thread will finish here.
    func abandonInChild() {}

    @usableFromInline
    init() {}

    /// What a retired item waits for.
    enum Hold {
        /// Nothing: a task, which may retire more items.
        case nothing
        /// The frames that have it as their current observer.
        case current(UInt)
        /// Open read sections, then the frames that pin it.
        case pin(UInt)
        /// The frames that pin it: who does has looked, after the pin, that it was not replaced.
        case validatedPin(UInt)
    }
}
