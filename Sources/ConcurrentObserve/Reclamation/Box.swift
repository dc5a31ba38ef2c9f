// SPDX-License-Identifier: Apache-2.0

import CURCU

/// Memory for one value, whatever its type: counted as every object of the runtime's, so that what
/// releases references releases boxes, too.
///
/// The value follows the header, 32 bytes behind the object's address. A box may be empty: then it
/// is kept for reuse, see `BoxPool`.
internal final class Box: ManagedBuffer<BoxHeader, SIMD2<UInt64>> {
    deinit { destroyValue(inBoxAt: unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())) }
}

/// What a box knows of its value.
internal struct BoxHeader {
    /// The address of the type's metadata, with the lowest bit set if the type is aligned more
    /// strictly than a box; 0 if nothing is there that must be destroyed.
    var type: UInt
    /// Of a box in use: which boxes it is kept with, or 0. Of a box that is kept: the address of
    /// the next.
    var link: UInt
}

extension Box {
    /// A new box, to which the caller owns the only reference.
    ///
    /// - Parameter units: How many times 16 bytes the value may have.
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

    /// Whether the object at `reference` is a box. The caller owns the reference.
    ///
    /// - Parameter type: `typeAddress`.
    @inline(__always)
    static func isBox(_ reference: UInt, type: UInt) -> Bool {
        // Safe: the caller's reference keeps the object; its first word is its type, of all native objects.
        unsafe UnsafePointer<UInt>(bitPattern: reference).unsafelyUnwrapped.pointee == type
    }

    static var typeAddress: UInt {
        // Safe: an address only.
        unsafe UInt(bitPattern: unsafeBitCast(Box.self as AnyClass, to: Int.self))
    }

    /// The header of the box at `address`. The caller owns the only reference.
    @inline(__always)
    static func header(at address: UInt) -> UnsafeMutablePointer<BoxHeader> {
        // Safe: `make` has checked that it is there.
        unsafe UnsafeMutablePointer(bitPattern: address &+ 16).unsafelyUnwrapped
    }
}

/// Where the value in the box at `address` is, as strictly aligned as its type asks.
@inlinable @inline(__always)
internal func addressOfValue(inBoxAt address: UInt, alignment: Int) -> UInt {
    let mask = UInt(bitPattern: alignment) &- 1
    return (address &+ 32 &+ mask) & ~mask
}

/// Destroys the value in the box at `address`, if it needs to be: the box is empty afterwards. The
/// caller owns the only reference.
internal func destroyValue(inBoxAt address: UInt) {
    // Safe, all: the caller's box. What stands there was made of a type by `ValueBox`.
    let word = unsafe Box.header(at: address).pointee.type
    if word == 0 { return }
    if _fastPath(word & 1 == 0) {
        unsafe curcu_destroy(
            UnsafeMutableRawPointer(bitPattern: address &+ 32).unsafelyUnwrapped,
            UnsafeRawPointer(bitPattern: word).unsafelyUnwrapped
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
        // Safe: the caller's box, with a value of the type.
        _ = unsafe UnsafeMutablePointer<Value>(bitPattern: value).unsafelyUnwrapped.deinitialize(count: 1)
    }
    _openExistential(type, do: destroy)
}
