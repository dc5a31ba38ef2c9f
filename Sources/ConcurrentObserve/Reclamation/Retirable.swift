// SPDX-License-Identifier: Apache-2.0

/// Something that passes may still be using when it is replaced or ended: retired first, reclaimed when nobody can be using it.
///
/// The link is part of the object, so that retiring, and with it cancelling, needs no memory.
@usableFromInline
internal class Retirable: @unchecked Sendable {
    // Unchecked: `link` belongs to whoever holds the item: the retiring thread, then a list, then the reclaimer.

    /// The address of the next item: on a stack 0 if there is none, in a list whatever.
    final var link: UInt = 0

    /// What keeps it from being reclaimed. Always the same.
    var hold: Hold { preconditionFailure("a retired item says what holds it") }

    /// Whether reclaiming it runs user code, and so belongs on a thread of the `DeinitThreads`. Always the same.
    var runsUserCode: Bool { false }

    /// Names the source of an item that runs user code: an address that is compared and never
    /// followed, since others may have it one day. Items of one source wait for each other to be
    /// destroyed, for those of other sources they do not. Always the same once the item is retired.
    var source: UInt { preconditionFailure("a retired item that runs user code says whose it is") }

    /// Called once for each retirement, when nothing holds it any more: on a thread that may run user code if it does, else on the reclaimer's.
    ///
    /// It destroys what user code can notice. The release of the object itself, some time later, may then happen anywhere.
    func reclaim() { preconditionFailure("a retired item can be reclaimed") }

    /// Gives up a reference to an item that is reclaimed. Where many of a kind are made, the last one may be kept to be used again.
    class func recycleOrRelease(_ reference: Unmanaged<Retirable>) { unsafe reference.release() }

    /// Called in the child of a fork that caught another thread in the middle of `reclaim`: nobody will finish that here.
    func abandonInChild() {}

    @usableFromInline
    init() {}

    /// What a retired item waits for.
    enum Hold {
        /// Held by nobody: work, which may retire more.
        case nothing
        /// Held by the frames that have it as their current observer.
        case current(UInt)
        /// Held by open read sections, then by the frames that pin it.
        case pin(UInt)
    }
}

/// A retired item, with the reference that its stack took: whoever has this owns it, and passing it on counts nothing.
@safe internal struct RetiredItem {
    private let reference: Unmanaged<Retirable>

    /// - Parameter address: That of an item to which the caller owns a reference, and gives it up.
    init(at address: UInt) {
        // Safe: the caller's reference keeps it.
        unsafe reference = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }

    // Safe, all that follow: whoever has this owns a reference.

    var address: UInt { unsafe UInt(bitPattern: reference.toOpaque()) }

    /// Hands the reference over.
    consuming func take() -> Retirable { unsafe reference.takeRetainedValue() }

    /// The address of the item that comes after it.
    var link: UInt {
        get { unsafe reference._withUnsafeGuaranteedRef { $0.link } }
        nonmutating set { unsafe reference._withUnsafeGuaranteedRef { $0.link = newValue } }
    }

    var hold: Retirable.Hold { unsafe reference._withUnsafeGuaranteedRef { $0.hold } }
    var runsUserCode: Bool { unsafe reference._withUnsafeGuaranteedRef { $0.runsUserCode } }
    var source: UInt { unsafe reference._withUnsafeGuaranteedRef { $0.source } }

    /// See `Retirable`: once. `release` comes after it.
    func reclaim() { unsafe reference._withUnsafeGuaranteedRef { $0.reclaim() } }

    /// See `Retirable`. What is half reclaimed is never released.
    func abandonInChild() { unsafe reference._withUnsafeGuaranteedRef { $0.abandonInChild() } }

    /// Gives the reference up: the last that is done with it.
    func release() { unsafe reference._withUnsafeGuaranteedRef { type(of: $0) }.recycleOrRelease(reference) }
}

/// A list of retired items, linked through the items: moving them from list to list needs no memory.
///
/// It has one owner at a time, though it can be copied: what an array keeps must be.
internal struct RetiredList {
    /// The addresses of the first item and the last, unless there are none. The last one's link means nothing.
    private var (first, last): (UInt, UInt) = (0, 0)
    private(set) var count = 0

    /// Adds an item at the end: behind its predecessor on a thread's stack, in most cases, whose link is right already.
    mutating func append(_ item: RetiredItem) {
        let address = item.address
        if count == 0 {
            first = address
        } else {
            let last = RetiredItem(at: last)
            if last.link != address { last.link = address }
        }
        last = address
        count += 1
    }

    /// Adds all of another list at the end. O(1).
    mutating func append(_ list: RetiredList) {
        if count == 0 {
            self = list
        } else if list.count > 0 {
            RetiredItem(at: last).link = list.first
            last = list.last
            count += list.count
        }
    }

    /// Takes the first item out.
    mutating func popFirst() -> RetiredItem? {
        guard count > 0 else { return nil }
        let item = RetiredItem(at: first)
        first = item.link
        count -= 1
        return item
    }
}
