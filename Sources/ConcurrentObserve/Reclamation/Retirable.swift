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

/// A list of retired items, linked through the items: moving one from list to list needs no memory and counts no reference.
internal struct RetiredList: ~Copyable {
    /// The addresses of the first item and the last, or 0. The list owns a reference to each.
    private var first: UInt = 0
    private var last: UInt = 0
    private(set) var count = 0

    init() {}

    /// Takes over a chain of items.
    init(chain first: UInt) {
        self.first = first
        var address = first
        while address != 0 {
            count += 1
            last = address
            // Safe: the list owns a reference to the item.
            address = unsafe Self.item(at: address)._withUnsafeGuaranteedRef { $0.link }
        }
    }

    deinit { assert(first == 0, "what is retired is not left behind") }

    /// Adds an item at the end.
    mutating func append(_ item: consuming Retirable) {
        item.link = 0
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(item).toOpaque())
        if last == 0 {
            first = address
        } else {
            // Safe: the list owns a reference to the item.
            unsafe Self.item(at: last)._withUnsafeGuaranteedRef { $0.link = address }
        }
        last = address
        count += 1
    }

    /// Takes the first item out.
    mutating func popFirst() -> Retirable? {
        guard first != 0 else { return nil }
        // Safe: the list owns a reference to the item and hands it over.
        let item = unsafe Self.item(at: first).takeRetainedValue()
        first = item.link
        if first == 0 { last = 0 }
        item.link = 0
        count -= 1
        return item
    }

    private static func item(at address: UInt) -> Unmanaged<Retirable> {
        // Safe: the caller's list owns a reference to the item.
        unsafe Unmanaged<Retirable>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
    }
}
