// SPDX-License-Identifier: Apache-2.0

/// Something that passes may still be using when it is replaced or ended: retired first, reclaimed when nobody can be using it.
///
/// The link is part of the object, so that retiring, and with it cancelling, needs no memory.
@usableFromInline
internal class Retirable: @unchecked Sendable {
    // Unchecked: `link` belongs to whoever holds the item: the retiring thread, then a list, then the reclaimer.

    /// The address of the next item in the list that this one is on, or 0.
    final var link: UInt = 0

    /// What keeps it from being reclaimed.
    var hold: Hold { preconditionFailure("a retired item says what holds it") }

    /// Whether reclaiming it runs user code, and so belongs on a thread of the `Destroyers`.
    var runsUserCode: Bool { false }

    /// Called once, when nothing holds it any more: on a thread that may run user code if it does, else on the reclaimer's.
    ///
    /// It destroys what user code can notice. The release of the object itself, some time later, may then happen anywhere.
    func reclaim() { preconditionFailure("a retired item can be reclaimed") }

    /// Called in the child of a fork that caught another thread in the middle of `reclaim`: nobody will finish that here.
    func forsake() {}

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

extension Retirable {
    internal var needsGracePeriod: Bool { if case .pin = hold { true } else { false } }
    /// Whether the reclaimer does it itself, before anything else.
    internal var isTask: Bool { if case .nothing = hold { !runsUserCode } else { false } }
}

/// A list of retired items, linked through the items; it owns a reference to each.
internal struct RetiredList {
    private(set) var first: UInt
    private(set) var count: Int

    init() { (first, count) = (0, 0) }

    /// Takes over a chain of items.
    init(chain first: UInt) {
        self.init()
        self.first = first
        var address = first
        while address != 0 {
            count += 1
            // Safe: the list owns a reference to the item.
            address = unsafe Unmanaged<Retirable>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
                ._withUnsafeGuaranteedRef { $0.link }
        }
    }

    mutating func push(_ item: consuming Retirable) {
        item.link = first
        first = unsafe UInt(bitPattern: Unmanaged.passRetained(item).toOpaque())
        count += 1
    }

    mutating func pop() -> Retirable? {
        guard first != 0 else { return nil }
        // Safe: the list owns a reference to the item and hands it over.
        let item = unsafe Unmanaged<Retirable>.fromOpaque(UnsafeRawPointer(bitPattern: first)!).takeRetainedValue()
        first = item.link
        item.link = 0
        count -= 1
        return item
    }
}
