// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// A reference that does not retain its object.
///
/// As with any unowned reference, the object's memory stays allocated until this reference is gone.
/// The object's `deinit` does not wait for that. With one of Swift's weak references, the object
/// would get a separate table. From then on every reference to the object would be counted through
/// that table, the user's references too. Counting through the table is several times slower.
@safe @usableFromInline
internal final class WeakReference: Sendable {
    private unowned let watched: any AnyObject & Sendable

    /// The address of the object. No other object has this address while the reference exists, so
    /// callers compare it first, without loading the reference.
    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(_ object: any AnyObject & Sendable) {
        watched = object
        identity = ObjectIdentifier(object)
    }

    /// The object, unless its `deinit` has begun.
    @usableFromInline var object: AnyObject? {
        // Safe: `watched` keeps the memory with the object's reference counts. The runtime has
        // counted a reference for the caller.
        unsafe SwiftRuntime.tryRetain(UInt(bitPattern: identity))?.takeRetainedValue()
    }

    /// The object as a value of `type`, unless its `deinit` has begun. `type` must be the type with
    /// which this reference was made.
    @inlinable
    func object<Object: AnyObject>(as type: Object.Type) -> Object? {
        guard let object else { return nil }
        // Safe: the caller has made the reference from an object of this type.
        return unsafe unsafeDowncast(object, to: type)
    }

    var isDead: Bool {
        // The load may retain the object for a moment, and then release its last reference, which
        // runs user code.
        ThreadRecord.withUserCode { object == nil }
    }
}
