// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Bytes from an observer's address to what it holds: object header, `link`, `mark`, `index`.
    ///
    /// The walk adds it to an address and borrows what is there; `checkLayout` compares it.
    @usableFromInline static var contentOffset: Int { 32 }

    /// Bytes from an observer's address to the reference in what it holds.
    @usableFromInline static var objectOffset: Int { 40 }

    /// Bytes from an observer's address to its mark.
    @usableFromInline static var markOffset: Int { 24 }

    /// Stores the closure. Once, before the observer is published.
    @inlinable
    func setCallback<Event>(_ callback: consuming Callback<Event>) { setContent(callback, of: .callbacks()) }

    /// Stores what an observer of a kind holds. Once, before the observer is published.
    @inlinable
    func setContent<Content: ~Copyable>(_ content: consuming Content, of kind: ObserverKind<Content>) {
        checkLayout()
        assert(knownMark.list == kind.list, "an observer of one kind holds what another kind does")
        assert(MemoryLayout<Content>.size == MemoryLayout<ContentStorage>.size)
        // Safe: the storage is this object's, holds nothing yet and has the size of any content.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.contentOffset))!
        unsafe storage.initializeMemory(as: Content.self, to: content)
    }

    @usableFromInline
    func checkLayout() {
        // Safe: addresses are compared, not followed.
        unsafe assert(
            withUnsafePointer(to: &content) { UInt(bitPattern: $0) } == address + UInt(Self.contentOffset)
                && withUnsafePointer(to: mark) { UInt(bitPattern: $0) } == address + UInt(Self.markOffset),
            "an observer's layout is not the one that the walk reads"
        )
    }

    /// The words of what the observer holds, for a table: a thread that uses them keeps the
    /// observation going.
    final var borrowedContent: ContentStorage {
        // Safe: this object's own; the words were written through a pointer, so they are read
        // through one.
        unsafe UnsafePointer<ContentStorage>(bitPattern: address + UInt(Self.contentOffset))!.pointee
    }

    /// Destroys what the observer holds, and what that alone keeps alive: user code may run. Once,
    /// when no thread can use it any more.
    func destroyContent() {
        // Safe: no thread uses it any more; every content is destroyed alike, by releasing the
        // reference in its second word: a closure's context, or an object.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.contentOffset))!
        unsafe storage.assumingMemoryBound(to: Callback<Void>.self).deinitialize(count: 1)
    }

    /// Calls the closure of the observer at `address`.
    @inlinable @inline(__always)
    static func call<Event>(at address: UInt, with event: Event) {
        // Safe: the frame that has it as current keeps the closure alive, the pin the observer.
        unsafe UnsafePointer<Callback<Event>>(bitPattern: address &+ UInt(contentOffset))
            .unsafelyUnwrapped.pointee(event)
    }

    /// The mark of the observer at `address`.
    @inlinable @inline(__always)
    static func mark(at address: UInt) -> ObserverMark {
        // Safe: the pinned table keeps every observer that it holds.
        let mark = unsafe UnsafePointer<Atomic<UInt32>>(bitPattern: address &+ UInt(markOffset)).unsafelyUnwrapped
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made
        // the closure visible.
        return unsafe ObserverMark(rawValue: mark.pointee.load(ordering: .relaxed))
    }

    /// Whether the observer at `address` has not ended.
    @inlinable @inline(__always)
    static func isActive(at address: UInt) -> Bool { mark(at: address).contains(.active) }

    /// Whether the observation at `address` has ended, and not with its source.
    @inlinable @inline(__always)
    static func isRemoved(at address: UInt) -> Bool { mark(at: address).isRemoved }

    /// The observer at `address`, whose frame has it as current.
    @usableFromInline
    static func at(_ address: UInt) -> Observer {
        // Safe: the pinned table keeps every observer that it holds.
        unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            .takeUnretainedValue()
    }
}
