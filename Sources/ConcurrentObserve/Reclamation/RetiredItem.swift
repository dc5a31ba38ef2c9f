// SPDX-License-Identifier: Apache-2.0

/// A retired item, with the reference that its stack took. The holder of this value owns the
/// reference; passing it on counts nothing.
@safe internal struct RetiredItem {
    private let reference: Unmanaged<Retirable>

    /// Takes over the caller's reference.
    ///
    /// - Parameter address: The address of an item to which the caller owns a reference.
    init(at address: UInt) {
        // Safe: the caller's reference keeps it.
        unsafe reference = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }

    /// Takes the item over.
    init(_ item: Retirable) { unsafe reference = .passRetained(item) }

    // Safe, all that follow: the holder of this value owns a reference.

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

    /// See `Retirable`. Call it once, and `release` after it.
    func reclaim() { unsafe reference._withUnsafeGuaranteedRef { $0.reclaim() } }

    /// See `Retirable`. An item that is half reclaimed is never released.
    func abandonInChild() { unsafe reference._withUnsafeGuaranteedRef { $0.abandonInChild() } }

    /// Drops the reference, when the item is reclaimed.
    func release() { unsafe reference._withUnsafeGuaranteedRef { type(of: $0) }.recycleOrRelease(reference) }
}
