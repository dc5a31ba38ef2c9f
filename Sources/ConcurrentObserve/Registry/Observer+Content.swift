// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// The distance in bytes from an observer's address to its content, which follows the object
    /// header, `link`, `mark` and `index`.
    ///
    /// A walk over a table adds the distance to an observer's address, and reads the content in
    /// place. `checkLayout` checks the distance.
    @usableFromInline static var contentOffset: Int { 32 }

    /// The distance in bytes from an observer's address to the reference in its content.
    @usableFromInline static var objectOffset: Int { 40 }

    /// The distance in bytes from an observer's address to its mark.
    @usableFromInline static var markOffset: Int { 24 }

    /// Stores the closure. Must be called once, before the observer is published.
    @inlinable
    func setCallback<Event>(_ callback: consuming Callback<Event>) { setContent(callback, of: .callbacks()) }

    /// Stores the content of the observer, whose list must be `kind.list`. Must be called once,
    /// before the observer is published.
    @inlinable
    func setContent<Content: ~Copyable>(_ content: consuming Content, of kind: ObserverKind<Content>) {
        checkLayout()
        assert(knownMark.list == kind.list, "an observer of one kind holds what another kind does")
        assert(MemoryLayout<Content>.size == MemoryLayout<ContentStorage>.size)
        // Safe: the storage belongs to this object, is empty, and has the size of any content.
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

    /// A copy of the two words of the content, for a table. The copy owns no reference: a thread
    /// that uses the words must keep the content alive.
    final var borrowedContent: ContentStorage {
        // Safe: the storage belongs to this object. The words were written through a pointer, so
        // they are read through one.
        unsafe UnsafePointer<ContentStorage>(bitPattern: address + UInt(Self.contentOffset))!.pointee
    }

    /// Destroys the content, and the objects that only the content retains. User code may run. Must
    /// be called once, when no thread can use the content any more.
    func destroyContent() {
        // Safe: no thread uses it any more. Every content is destroyed in the same way, by
        // releasing the reference in its second word: a closure's context, or an object.
        let storage = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(Self.contentOffset))!
        unsafe storage.assumingMemoryBound(to: Callback<Void>.self).deinitialize(count: 1)
    }

    /// Calls the closure of the observer at `address` with `event`. The calling thread's frame must
    /// name the observer in its hazard pointer `current`.
    @inlinable @inline(__always)
    static func call<Event>(at address: UInt, with event: Event) {
        // Safe: the frame that names the observer in `current` keeps the closure alive, and the pin
        // keeps the observer.
        unsafe UnsafePointer<Callback<Event>>(bitPattern: address &+ UInt(contentOffset))
            .unsafelyUnwrapped.pointee(event)
    }

    /// Returns the mark of the observer at `address`.
    @inlinable @inline(__always)
    static func mark(at address: UInt) -> ObserverMark {
        // Safe: the pinned table keeps every observer that it contains.
        let mark = unsafe UnsafePointer<Atomic<UInt32>>(bitPattern: address &+ UInt(markOffset)).unsafelyUnwrapped
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made
        // the closure visible.
        return unsafe ObserverMark(rawValue: mark.pointee.load(ordering: .relaxed))
    }

    /// Whether the observation at `address` has not ended.
    @inlinable @inline(__always)
    static func isActive(at address: UInt) -> Bool { mark(at: address).contains(.active) }

    /// Whether the observation at `address` has ended for another reason than the end of its
    /// source.
    @inlinable @inline(__always)
    static func isRemoved(at address: UInt) -> Bool { mark(at: address).isRemoved }

    /// Returns the observer at `address`. The caller must own a reference to the observer, or its
    /// thread's frame must pin a table that contains the observer.
    @usableFromInline
    static func at(_ address: UInt) -> Observer {
        // Safe: the pinned table keeps every observer that it contains.
        unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            .takeUnretainedValue()
    }
}
