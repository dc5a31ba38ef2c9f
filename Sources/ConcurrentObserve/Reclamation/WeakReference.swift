// SPDX-License-Identifier: Apache-2.0

import CURCU

/// An object that is watched, not kept.
///
/// Its memory is kept, as by any unowned reference, until this reference is gone; its `deinit` does not wait. Swift's weak references
/// would give the object a table of its own, through which every reference to it is counted from then on, the user's too: that is
/// several times slower.
@safe @usableFromInline
internal final class WeakReference: Sendable {
    private unowned let watched: any AnyObject & Sendable

    /// The address of the object, which no other one has meanwhile: to compare first, without loading the reference.
    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(_ object: any AnyObject & Sendable) {
        watched = object
        identity = ObjectIdentifier(object)
    }

    /// The object, unless its `deinit` has begun.
    @usableFromInline var object: AnyObject? {
        // Safe: `watched` keeps the memory in which the object's references are counted; the runtime has counted one for the caller.
        guard let object = unsafe curcu_try_retain(UnsafeMutableRawPointer(bitPattern: UInt(bitPattern: identity)))
        else {
            return nil
        }
        return unsafe Unmanaged<AnyObject>.fromOpaque(object).takeRetainedValue()
    }

    /// The object, of the type that it was given as, unless its `deinit` has begun.
    @inlinable
    func object<Object: AnyObject>(as type: Object.Type) -> Object? {
        guard let object else { return nil }
        // Safe: the caller has made the reference from an object of this type.
        return unsafe unsafeDowncast(object, to: type)
    }

    var isDead: Bool {
        // The load may keep the object for a moment, and then drop its last reference: user code.
        ThreadRecord.withUserCode { object == nil }
    }
}
