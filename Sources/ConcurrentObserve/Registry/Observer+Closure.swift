// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Bytes from an observer's address to its closure: object header, `link`, `state`, `index`.
    ///
    /// The walk adds it to an address and borrows what is there; `initialize` checks it.
    @usableFromInline static var callbackOffset: Int { 32 }

    /// Bytes from an observer's address to its mark.
    @usableFromInline static var stateOffset: Int { 24 }

    /// Stores the closure. Once, before the observer is published.
    @inlinable
    func setCallback<Event>(_ callback: consuming Callback<Event>) {
        checkLayout()
        // Safe: the storage is this object's, holds nothing yet and has room for any closure.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.callbackOffset))!
        unsafe storage.initializeMemory(as: Callback<Event>.self, to: callback)
    }

    @usableFromInline
    func checkLayout() {
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &callback) { UInt(bitPattern: $0) } == address + UInt(Self.callbackOffset)
                && withUnsafePointer(to: state) { UInt(bitPattern: $0) } == address + UInt(Self.stateOffset),
            "an observer's layout is not the one that the walk reads"
        )
    }

    /// The closure's words, for a table: its walkers see to it that the observation goes on.
    final var borrowedCallback: CallbackStorage {
        // Safe: this object's own; the words were written through a pointer, so they are read through one.
        unsafe UnsafePointer<CallbackStorage>(bitPattern: address + UInt(Self.callbackOffset))!.pointee
    }

    /// Destroys the closure and what it alone keeps alive: user code may run. Once, when no thread can call it any more.
    func destroyCallback() {
        exploredDestruction(ofObserver: address)
        // Safe: no thread calls it any more; every closure is destroyed alike, by releasing its context.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.callbackOffset))!
        unsafe storage.assumingMemoryBound(to: Callback<Void>.self).deinitialize(count: 1)
    }

    /// Calls the closure of the observer at `address`.
    @inlinable @inline(__always)
    static func call<Event>(at address: UInt, with event: Event) {
        exploredCall(address)
        defer { exploredReturn(address) }
        // Safe: the frame that has it as current keeps the closure alive, the pin the observer.
        unsafe UnsafePointer<Callback<Event>>(bitPattern: address &+ UInt(callbackOffset))
            .unsafelyUnwrapped.pointee(event)
    }

    /// The mark of the observer at `address`.
    @inlinable @inline(__always)
    static func state(at address: UInt) -> UInt32 {
        // Safe: the pinned table keeps every observer that it holds.
        let state = unsafe UnsafePointer<Atomic<UInt32>>(bitPattern: address &+ UInt(stateOffset)).unsafelyUnwrapped
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made the closure visible.
        return unsafe state.pointee.load(ordering: .relaxed)
    }

    /// Whether the observer at `address` has not ended.
    @inlinable @inline(__always)
    static func isActive(at address: UInt) -> Bool { state(at: address) & ObserverState.active != 0 }

    /// Whether the observation at `address` has ended, and not with its source.
    @inlinable @inline(__always)
    static func isRemoved(at address: UInt) -> Bool {
        let state = state(at: address)
        return state & ObserverState.active == 0
            && state >> ObserverState.endShift != ObservationEnd.sourceDeleted.rawValue
    }

    /// The observer at `address`, whose frame has it as current.
    @usableFromInline
    static func at(_ address: UInt) -> Observer {
        // Safe: the pinned table keeps every observer that it holds.
        unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            .takeUnretainedValue()
    }
}
