// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObservePlatform
public import Synchronization

/// A word in which a thread publishes the address of the object that it uses. While the address is
/// there, no other thread frees the object. Only its thread writes the word. Every scan reads it.
///
/// The two sides of the protocol:
/// 1. The user stores the address, executes the light barrier, and then checks whether the object
///    is still the present one.
/// 2. The thread that frees the object replaces it first, executes the heavy barrier, and then
///    scans.
///
/// Either the user finds that the object was replaced, or the scan finds the address.
@usableFromInline
internal struct HazardPointer: ~Copyable {
    /// The address of the object, or 0.
    @usableFromInline let address = Atomic<UInt>(0)

    @inlinable
    init() {}

    /// Protects an object. This is the only way to do so, apart from `protectTable(_:)`.
    ///
    /// - Parameters:
    ///   - object: The address of the object.
    ///   - fenced: Whether the barrier needs a fence.
    ///   - isPresent: Returns whether the object is still the present one.
    /// - Returns: The address, or nil if the object was replaced. Then the caller must not follow
    ///   the address.
    @inlinable @inline(__always)
    borrowing func protect(
        _ object: UInt,
        fenced: Bool = AsymmetricBarrier.needsFences,
        ifStill isPresent: () -> Bool
    ) -> UInt? {
        // Release: ends the use of the previous object; pairs with the acquire in scanned.
        address.store(object, ordering: .releasing)
        // Between the store and the check: pairs with AsymmetricBarrier.heavy().
        let object = AsymmetricBarrier.light(fenced: fenced, object)
        return isPresent() ? object : nil
    }

    /// Ends the protection of the object.
    @inlinable @inline(__always)
    borrowing func clear() {
        // If user code returns an object, the optimiser moves the retain of that object down to its
        // first use. It moves the retain across atomic stores of any ordering, because they touch
        // no reference count, but not across this barrier. (The C11 orderings act between threads.
        // The barrier emits no instruction, and acts between the compiler and this thread.)
        compilerBarrier()
        // Release: the use happens before the reclaiming; pairs with the acquire in scanned.
        address.store(0, ordering: .releasing)
    }

    /// The address that a scan sees. The caller must first execute the barrier that makes it
    /// visible.
    var scanned: UInt {
        // Acquire: pairs with the releases in protect(_:fenced:ifStill:) and clear(); the use of an
        // object comes before its reclaiming.
        address.load(ordering: .acquiring)
    }
}
