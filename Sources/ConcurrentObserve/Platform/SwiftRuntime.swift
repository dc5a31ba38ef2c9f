// SPDX-License-Identifier: Apache-2.0

public import CPlatform
import Synchronization

/// Calls the internal functions of the Swift runtime. No other type of the library calls them.
@usableFromInline
package enum SwiftRuntime {
    /// Retains the object at `address` for the caller. Returns nil if the object's `deinit` has
    /// begun. The caller must keep the object's memory allocated, for example by an unowned
    /// reference.
    @inlinable
    package static func tryRetain(_ address: UInt) -> Unmanaged<AnyObject>? {
        // Safe: the caller keeps the memory. The runtime has counted the reference.
        unsafe cplatform_try_retain(UnsafeMutableRawPointer(bitPattern: address))
            .map { unsafe Unmanaged.fromOpaque($0) }
    }

    /// Retains an object `count` times, without an atomic operation. No other thread may have a
    /// reference to the object.
    @inlinable @inline(__always)
    package static func retainUnshared(_ object: AnyObject, _ count: UInt32) {
        // Safe: the caller has the object.
        unsafe cplatform_retain_unshared(Unmanaged.passUnretained(object).toOpaque(), count)
    }

    /// Destroys the value at `value`, whose type's metadata is at `type`. The caller must own the
    /// value.
    @inlinable @inline(__always)
    package static func destroy(_ value: UnsafeMutableRawPointer, ofType type: UnsafeRawPointer) {
        // Safe: the caller owns the value, and `type` is its type.
        unsafe cplatform_destroy(value, type)
    }

    /// Fetches the cache line at `address`, which will be read and written soon. Any address is
    /// allowed.
    @inlinable @inline(__always)
    package static func prefetch(_ address: UInt) {
        // Safe: a prefetch does not fault.
        unsafe cplatform_prefetch(UnsafeRawPointer(bitPattern: address))
    }
}

// MARK: - The check

extension SwiftRuntime {
    private static let isChecked = Atomic<Bool>(false)

    /// Checks, at the first call in the process, that retaining, measuring and destroying an object
    /// work as the library assumes. Traps if one of them does not. Later calls do nothing.
    static func trapIfItDiffers() {
        // Relaxed, both: one thread makes the check, and no other needs its result.
        if isChecked.load(ordering: .relaxed) || isChecked.exchange(true, ordering: .relaxed) { return }
        // Safe, all: this function owns the object, and counts every reference. The type's metadata
        // is never freed.
        let type = unsafe UnsafeRawPointer(bitPattern: unsafeBitCast(Checked.self as Any.Type, to: UInt.self))!
        let object = unsafe Unmanaged.passRetained(Checked())
        unsafe retainUnshared(object.takeUnretainedValue(), 1)
        let retained = unsafe tryRetain(UInt(bitPattern: object.toOpaque())) != nil
        let sized = unsafe cplatform_size(type) == MemoryLayout<Checked>.size
        // The language releases two of the three references, and the type's witness the last.
        unsafe object.release()
        unsafe object.release()
        let lived = Checked.hasEnded.load(ordering: .relaxed) == false
        var reference = unsafe object.toOpaque()
        if retained && sized && lived { unsafe destroy(&reference, ofType: type) }
        precondition(
            Checked.hasEnded.load(ordering: .relaxed) && lived,
            "ConcurrentObserve: Swift's runtime is not the one that the library was written for."
        )
    }

    private final class Checked: Sendable {
        // Relaxed, at every use: only the checking thread uses it.
        static let hasEnded = Atomic<Bool>(false)

        deinit { Self.hasEnded.store(true, ordering: .relaxed) }
    }
}
