// SPDX-License-Identifier: Apache-2.0

/// An object that passes may still be using when it is replaced or ended. It is retired first, and
/// reclaimed when no thread can be using it.
///
/// The link is part of the object, so retiring needs no memory. Neither does cancelling, which
/// retires.
@usableFromInline
internal class Retirable: @unchecked Sendable {
    // Unchecked: `link` belongs to the owner of the item: the retiring thread, then a list, then
    // the reclamation thread.

    /// The address of the next item. The last item of a stack has 0. In the last item of a list the
    /// value means nothing.
    final var link: UInt = 0

    /// The reason why the item may not be reclaimed yet. Never changes.
    var hold: Hold { preconditionFailure("a retired item says what holds it") }

    /// Whether reclaiming the item runs user code. Then one of the `DeinitThreads` must do it.
    /// Never changes.
    var runsUserCode: Bool { false }

    /// Identifies, by an address, the source of an item that runs user code. The address is
    /// compared and never followed, because a later source may have the same one. Items of one
    /// source wait for each other. They do not wait for items of other sources. Never changes after
    /// the item is retired.
    var source: UInt { preconditionFailure("a retired item that runs user code says whose it is") }

    /// Called once for each retirement, when nothing holds the item any more. It is called on a
    /// deinit thread if it runs user code, otherwise on the reclamation thread.
    ///
    /// It destroys everything whose destruction user code can notice. The object itself may be
    /// released later, on any thread.
    func reclaim() { preconditionFailure("a retired item can be reclaimed") }

    /// Releases a reference to a reclaimed item. A class with many instances may instead keep the
    /// item for reuse if the reference was the last.
    class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe reference.release() }

    @usableFromInline
    init() {}

    /// The condition for reclaiming an item.
    enum Hold {
        /// None. If the item runs no user code, it is a task of the reclamation thread, which may
        /// retire more items.
        case nothing
        /// No frame has this address as its current observer.
        case current(UInt)
        /// All read sections that were open have ended, and then no frame pins this address.
        case pin(UInt)
        /// No frame pins this address. Each reader checks, after it has set the pin, that the item
        /// was not replaced.
        case validatedPin(UInt)
    }
}
