// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// An object that other threads may still be using when it is replaced or ended: in a walk over a
/// list, or in a read. It is retired first, and reclaimed when no thread can be using it.
///
/// The link is part of the object, so retiring needs no memory. Cancelling retires the observer, so
/// it needs no memory either.
@usableFromInline
internal class Retirable: @unchecked Sendable {
    // Unchecked: `link` belongs to the owner of the item: the retiring thread, then a list, then
    // the reclamation thread.

    /// The address of the next item. The last item of a stack has 0. In the last item of a list the
    /// value means nothing.
    final var link: UInt = 0

    /// The condition for reclaiming the item. It never changes.
    var hold: Hold { preconditionFailure("a retired item says what holds it") }

    /// Whether reclaiming the item runs user code. Then one of the `DeinitThreads` must reclaim it.
    /// The answer never changes.
    var runsUserCode: Bool { false }

    /// The address that identifies the source of an item that runs user code. Items of one source
    /// wait for each other, and not for items of other sources. The address is compared, not
    /// followed, because the object at the address may be gone. It does not change after the item
    /// is retired.
    var sourceAddress: UInt { preconditionFailure("a retired item that runs user code says whose it is") }

    /// Reclaims the item. It is called once for each retirement, when nothing holds the item any
    /// more. It is called on a deinit thread if it runs user code, otherwise in a pass.
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
        /// The item may be reclaimed at once. If it runs user code, a deinit thread reclaims it. If
        /// not, it is a task of the reclamation thread, and the task may retire more items.
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

/// Either a retired item, or a retired reference that is in no item and whose release runs user
/// code. The holder of this value owns one reference to the item or to the object. Copying this
/// value does not retain, so only one copy may release that reference.
@safe internal struct RetiredItem {
    /// The address of the item, or the address of the object with the lowest bit set.
    private let word: UInt

    /// Makes a value from an item, and takes over the caller's reference to it.
    ///
    /// - Parameter address: The address of an item to which the caller owns a reference.
    init(at address: UInt) { word = address }

    /// Makes a value from a reference without an item, and takes over that reference.
    ///
    /// - Parameter reference: The address of an object to which the caller owns a reference.
    init(reference: UInt) { word = reference | 1 }

    /// Makes a value that holds the item, and retains the item.
    init(_ item: Retirable) {
        // Safe: an address, and the reference that belongs to it.
        word = unsafe UInt(bitPattern: Unmanaged.passRetained(item).toOpaque())
    }

    /// The address of the object if this is only a reference, otherwise nil.
    var bareReference: UInt? { word & 1 == 1 ? word & ~1 : nil }

    // Safe, all that follow: the holder of this value owns a reference.

    private var item: Unmanaged<Retirable> {
        unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: word).unsafelyUnwrapped)
    }

    var address: UInt { word }

    /// Returns the item, and passes its reference on to the caller.
    consuming func take() -> Retirable { unsafe item.takeRetainedValue() }

    /// The address of the next item.
    var link: UInt {
        get { unsafe item._withUnsafeGuaranteedRef { $0.link } }
        nonmutating set { unsafe item._withUnsafeGuaranteedRef { $0.link = newValue } }
    }

    var hold: Retirable.Hold { unsafe item._withUnsafeGuaranteedRef { $0.hold } }
    var runsUserCode: Bool { unsafe item._withUnsafeGuaranteedRef { $0.runsUserCode } }
    var sourceAddress: UInt { unsafe item._withUnsafeGuaranteedRef { $0.sourceAddress } }

    /// Calls `Retirable.reclaim()`, or releases the reference if this is only a reference. The
    /// caller must call it once, and then `release`.
    func reclaim() {
        if let bareReference { return releaseReference(bareReference) }
        unsafe item._withUnsafeGuaranteedRef { $0.reclaim() }
    }

    /// Releases the reference to a reclaimed item, or recycles the item.
    func release() {
        if bareReference != nil { return }
        unsafe item._withUnsafeGuaranteedRef { type(of: $0) }.recycleOrRelease(item)
    }
}

extension Retirable {
    /// Adds `count` references in one step, without an atomic operation. No other thread may have
    /// the item.
    final func retainUnshared(_ count: UInt32) {
        SwiftRuntime.retainUnshared(self, count)
    }
}

/// A list of retired items, linked through the items. Therefore moving them from list to list needs
/// no memory.
///
/// It has one owner at a time. It is copyable only because elements of an array must be.
internal struct RetiredList {
    /// The addresses of the first item and of the last one, if there are any. The last item's link
    /// means nothing.
    private var (first, last): (UInt, UInt) = (0, 0)
    private(set) var count = 0

    /// Adds an item at the end. In most cases, the list's last item already has the right link: the
    /// two items were neighbours on a thread's stack.
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

    /// Adds all items of another list at the end. This takes O(1).
    mutating func append(_ list: RetiredList) {
        if count == 0 {
            self = list
        } else if list.count > 0 {
            RetiredItem(at: last).link = list.first
            last = list.last
            count += list.count
        }
    }

    /// Removes the first item and returns it; nil if the list is empty.
    mutating func popFirst() -> RetiredItem? {
        guard count > 0 else { return nil }
        let item = RetiredItem(at: first)
        first = item.link
        count -= 1
        return item
    }
}

/// Retired items of one batch and one source, which the deinit threads reclaim: first the linked
/// items, then the references.
internal struct RetiredRun {
    private var items = RetiredList()
    private var references: [UInt] = []
    /// The index of the first reference that was not taken out.
    private var index = 0
    let batch: Batch
    let sourceAddress: UInt

    init(items: RetiredList = RetiredList(), batch: Batch, sourceAddress: UInt) {
        (self.items, self.batch, self.sourceAddress) = (items, batch, sourceAddress)
    }

    var count: Int { items.count + references.count - index }

    mutating func append(_ item: RetiredItem) {
        if let reference = item.bareReference { references.append(reference) } else { items.append(item) }
    }

    /// Adds all items of another run of the same batch and source at the end.
    mutating func append(_ run: RetiredRun) {
        items.append(run.items)
        references.append(contentsOf: run.references[run.index...])
    }

    /// Takes an item out and returns it; nil if the run is empty. This takes O(1).
    mutating func popFirst() -> RetiredItem? {
        if let item = items.popFirst() { return item }
        guard index < references.count else { return nil }
        defer { index += 1 }
        return RetiredItem(reference: references[index])
    }
}

extension FrameScan {
    /// Whether some frame holds the item.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of frames in use.
    func holds(_ item: RetiredItem) -> Bool {
        switch item.hold {
        case .nothing: return false
        case .pin(let address), .validatedPin(let address): return isPinned(address)
        case .current(let address): return isCurrent(address)
        }
    }
}
