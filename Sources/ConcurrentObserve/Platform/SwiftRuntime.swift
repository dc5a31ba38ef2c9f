// SPDX-License-Identifier: Apache-2.0

import CURCU

/// All uses of the runtime's internals.
internal enum SwiftRuntime {
    /// Counts a reference to the object at `address` for the caller, unless its `deinit` has begun.
    /// The caller keeps the object's memory, by an unowned reference for example.
    static func tryRetain(_ address: UInt) -> Unmanaged<AnyObject>? {
        // Safe: the caller keeps the memory. The runtime has counted the reference.
        unsafe curcu_try_retain(UnsafeMutableRawPointer(bitPattern: address)).map { unsafe Unmanaged.fromOpaque($0) }
    }

    /// Counts more references to an object, without an atomic operation: no other thread may have
    /// it.
    @inline(__always)
    static func retainUnshared(_ object: AnyObject, _ count: UInt32) {
        // Safe: the caller has the object.
        unsafe curcu_retain_unshared(Unmanaged.passUnretained(object).toOpaque(), count)
    }

    /// The bytes of a value of the type whose metadata is at `type`.
    @inline(__always)
    static func size(ofType type: UnsafeRawPointer) -> Int {
        // Safe: the caller's pointer leads to a type's metadata, which is never freed.
        Int(unsafe curcu_size(type))
    }

    /// Destroys the value at `value`, whose type's metadata is at `type`. The value is the
    /// caller's.
    @inline(__always)
    static func destroy(_ value: UnsafeMutableRawPointer, ofType type: UnsafeRawPointer) {
        // Safe: the caller owns the value, and the type is its own.
        unsafe curcu_destroy(value, type)
    }

    /// Fetches a cache line that will be read and written soon. Any address will do.
    @inline(__always)
    static func prefetch(_ address: UInt) {
        // Safe: a prefetch does not fault.
        unsafe curcu_prefetch(UnsafeRawPointer(bitPattern: address))
    }
}
