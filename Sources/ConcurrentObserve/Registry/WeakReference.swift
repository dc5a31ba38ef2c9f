// SPDX-License-Identifier: Apache-2.0

/// An object that is watched, not kept.
@usableFromInline
internal final class WeakReference: Sendable {
    @usableFromInline weak let object: (any AnyObject & Sendable)?

    /// The address of the object, which another one may have once it is dead: to compare first,
    /// without loading the reference.
    @usableFromInline let identity: ObjectIdentifier

    @usableFromInline
    init(_ object: any AnyObject & Sendable) {
        self.object = object
        identity = ObjectIdentifier(object)
    }

    /// How observations end that are bound to `owner`, which the caller holds and which has this
    /// reference's address.
    func endOfObservations(boundTo owner: AnyObject) -> ObservationEnd {
        #if INSTRUMENTED
        if mutant(.anOwnerIsKnownByItsAddress) { return .cancelled }
        #endif
        return object === owner ? .cancelled : .ownerDeleted
    }

    var isDead: Bool {
        // The load may keep the object for a moment, and then drop its last reference: user code.
        ThreadRecord.withUserCode { object == nil }
    }
}
