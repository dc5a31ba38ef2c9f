// SPDX-License-Identifier: Apache-2.0

/// A closure that is isolated to the actor which it is called with, where an observer keeps its closure.
@usableFromInline
internal struct IsolatedCallback<Target: Actor, Event: Sendable>: ~Copyable {
    @usableFromInline let body: @Sendable (isolated Target, Event) -> Void

    @inlinable
    init(body: @escaping @Sendable (isolated Target, Event) -> Void) { self.body = body }

    @inlinable @inline(__always)
    borrowing func callAsFunction(_ target: isolated Target, _ event: Event) { body(target, event) }

    /// Calls the closure of the observer at `address`, which must hold one of these.
    @inlinable @inline(__always)
    static func call(at address: UInt, on target: isolated Target, with event: Event) {
        // Safe: as for `Observer.call(at:with:)`: the frame that has it as current keeps the closure.
        unsafe UnsafePointer<Self>(bitPattern: address &+ UInt(Observer.callbackOffset))
            .unsafelyUnwrapped.pointee(target, event)
    }
}

extension Observer {
    /// Stores a closure that is isolated to an actor. Once, before the observer is published.
    @inlinable
    func setCallback<Target, Event>(_ callback: consuming IsolatedCallback<Target, Event>) {
        checkLayout()
        // Safe: the storage is this object's, holds nothing yet, and every closure is a code pointer and a context.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.callbackOffset))!
        unsafe storage.initializeMemory(as: IsolatedCallback<Target, Event>.self, to: callback)
    }
}

/// A closure without its isolation: whoever calls it is there already.
@inlinable
internal func withoutIsolation<Event>(
    _ body: @escaping @isolated(any) @Sendable (Event) -> Void
) -> @Sendable (Event) -> Void {
    // Safe: a closure that carries its isolation differs from another in what the compiler demands of callers, as in the standard library's
    // `MainActor.assumeIsolated`; `IsolationObservation` calls it on its own actor only.
    unsafe unsafeBitCast(body, to: (@Sendable (Event) -> Void).self)
}

/// The same of a delivery, for a seeded bug: whoever calls it is not there.
internal func withoutIsolation<Observation, Target: Actor>(
    _ deliver: @escaping @Sendable (Observation, isolated Target) -> Bool
) -> @Sendable (Observation, Target) -> Bool {
    // Safe: as above, but that the compiler's demand is not met.
    unsafe unsafeBitCast(deliver, to: (@Sendable (Observation, Target) -> Bool).self)
}
