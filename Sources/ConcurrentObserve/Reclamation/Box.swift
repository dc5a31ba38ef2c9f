// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// Memory for one value of any type. The runtime counts references to a box as to any object, so
/// code that releases references releases boxes, too.
///
/// The value follows the header, 32 bytes after the object's address, or later if its alignment
/// requires it. A box that is kept for reuse is empty: see `BoxPool`.
internal final class Box: ManagedBuffer<BoxHeader, SIMD2<UInt64>> {
    deinit { destroyValue(inBoxAt: unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())) }
}

/// The header of a box.
internal struct BoxHeader {
    /// The address of the type's metadata; 0 if the box contains nothing that must be destroyed.
    /// The lowest bit is set if the type's alignment is stricter than a box's.
    var type: UInt
    /// In a box in use: its size in units of 16 bytes, if `BoxPool` keeps boxes of this size,
    /// otherwise 0. In a kept box: the address of the next kept box, or 0.
    var link: UInt
}

extension Box {
    /// Allocates a box. The caller owns the only reference.
    ///
    /// - Parameters:
    ///   - units: The room for the value, in units of 16 bytes.
    ///   - type: The value of `BoxHeader.type`.
    ///   - link: The value of `BoxHeader.link`.
    @inline(never)
    static func make(units: Int, type: UInt, link: UInt) -> UInt {
        let box = create(minimumCapacity: units) { _ in BoxHeader(type: type, link: link) }
        // Safe, both: addresses, and the reference that belongs to one of them.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(box).toOpaque())
        let isLaidOut = unsafe box.withUnsafeMutablePointers { header, units in
            UInt(bitPattern: header) == address &+ 16 && UInt(bitPattern: units) == address &+ 32
        }
        precondition(isLaidOut, "ConcurrentObserve: boxes are not laid out as their readers assume.")
        return address
    }

    /// Returns the header of the box at `address`. The caller must own the only reference.
    @inline(__always)
    static func header(at address: UInt) -> UnsafeMutablePointer<BoxHeader> {
        // Safe: `make` has checked the layout.
        unsafe UnsafeMutablePointer(bitPattern: address &+ 16).unsafelyUnwrapped
    }
}

/// Returns the address of the value in the box at `address`, aligned as the type requires.
@inlinable @inline(__always)
internal func addressOfValue(inBoxAt address: UInt, alignment: Int) -> UInt {
    let mask = UInt(bitPattern: alignment) &- 1
    return (address &+ 32 &+ mask) & ~mask
}

/// Destroys the value in the box at `address`, if the value needs it. Afterwards the box is empty.
/// The caller must own the only reference.
internal func destroyValue(inBoxAt address: UInt) {
    // Safe, all: the box is the caller's. `ValueBox` has stored a value of this type in it.
    let word = unsafe Box.header(at: address).pointee.type
    if word == 0 { return }
    if _fastPath(word & 1 == 0) {
        unsafe SwiftRuntime.destroy(
            UnsafeMutableRawPointer(bitPattern: address &+ 32).unsafelyUnwrapped,
            ofType: UnsafeRawPointer(bitPattern: word).unsafelyUnwrapped
        )
    } else {
        destroyAlignedValue(inBoxAt: address, of: unsafe unsafeBitCast(word & ~1, to: Any.Type.self))
    }
    unsafe Box.header(at: address).pointee.type = 0
}

@inline(never)
private func destroyAlignedValue(inBoxAt address: UInt, of type: Any.Type) {
    func destroy<Value>(_: Value.Type) {
        let value = addressOfValue(inBoxAt: address, alignment: MemoryLayout<Value>.alignment)
        // Safe: the box is the caller's, and contains a value of this type.
        _ = unsafe UnsafeMutablePointer<Value>(bitPattern: value).unsafelyUnwrapped.deinitialize(count: 1)
    }
    _openExistential(type, do: destroy)
}
