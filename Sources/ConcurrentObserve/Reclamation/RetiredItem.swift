// SPDX-License-Identifier: Apache-2.0

import CURCU

/// A retired item, with the reference that its stack took; or only a retired reference whose
/// release runs user code. The holder of this value owns the reference. Passing the value on counts
/// nothing.
@safe internal struct RetiredItem {
    /// The address of the item; or the address of the object, with the lowest bit set.
    private let word: UInt

    /// Takes over the caller's reference.
    ///
    /// - Parameter address: The address of an item to which the caller owns a reference.
    init(at address: UInt) { word = address }

    /// Takes over the caller's reference.
    ///
    /// - Parameter reference: The address of an object to which the caller owns a reference. It
    ///   becomes an item without a link.
    init(reference: UInt) { word = reference | 1 }

    /// Retains the item.
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

    /// Passes the reference to the caller.
    consuming func take() -> Retirable { unsafe item.takeRetainedValue() }

    /// The address of the next item.
    var link: UInt {
        get { unsafe item._withUnsafeGuaranteedRef { $0.link } }
        nonmutating set { unsafe item._withUnsafeGuaranteedRef { $0.link = newValue } }
    }

    var hold: Retirable.Hold { unsafe item._withUnsafeGuaranteedRef { $0.hold } }
    var runsUserCode: Bool { unsafe item._withUnsafeGuaranteedRef { $0.runsUserCode } }
    var source: UInt { unsafe item._withUnsafeGuaranteedRef { $0.source } }

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
    /// Adds references in one step, without an atomic operation: no other thread may have the item.
    final func retainUnshared(_ count: UInt32) {
        // Safe: the caller has the item.
        unsafe curcu_retain_unshared(Unmanaged.passUnretained(self).toOpaque(), count)
    }
}
