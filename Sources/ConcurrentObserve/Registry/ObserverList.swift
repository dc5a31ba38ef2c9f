// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// The observers of one source. `ObserverRegistry` and properties embed it.
///
/// It takes two words as long as it has no observers. A notification reads `head`, which has the
/// address of the callbacks' table. All other operations use the core (`RegistryCore`), which is
/// made with the first observer. Hints in `head` say which lists may have observers, so a source
/// without observers needs only one load for all lists.
@usableFromInline
internal struct ObserverList: ~Copyable, Sendable {
    /// The address of the contents of the callbacks' current table, or 0 if there is none, combined
    /// with the bits of `ListHints`.
    @usableFromInline let head = Atomic<UInt>(0)

    /// The address of the core, to which this list owns a reference; 0 until the core is made.
    @usableFromInline let coreAddress = Atomic<UInt>(0)

    @usableFromInline
    init() { Fork.noteUse() }

    deinit {
        // Acquire: pairs with the release in makeCore(label:); the last reference to the source was
        // released.
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0, !Fork.isInChild else { return }
        // Safe: makeCore(label:) has kept a reference. The source and its observers share that
        // reference, and the last of them releases it.
        let core = unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
        if unsafe core._withUnsafeGuaranteedRef({ $0.countEndOfSource() }) { unsafe core.release() }
    }

    /// The core; nil until it is made, with the first observer or for a label.
    var existingCore: RegistryCore? {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return nil }
        // Safe: this list owns a reference.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }

    /// Returns the core, and makes it on first use. The list must be stored in an object, so that
    /// its address does not change.
    @usableFromInline
    borrowing func core(label: String = "") -> RegistryCore { existingCore ?? makeCore(label: label) }

    /// Makes or recycles an observer of this source. The caller must store its closure, and
    /// register it next.
    @usableFromInline
    borrowing func makeObserverToRegister() -> Observer {
        withCore { core in
            let observer = Observer.recycled(isOneOfMany: mayHave(ListHints.large)) ?? Observer()
            unsafe observer.renew(observer.enterAhead(Unmanaged.passUnretained(core)))
            return observer
        }
    }

    /// Makes or recycles an observer of this source. The caller stores its closure, and registers
    /// it.
    @usableFromInline
    borrowing func makeObserver(owner: WeakReference? = nil) -> Observer {
        withCore { core in
            if owner == nil, let observer = Observer.recycled(isOneOfMany: mayHave(ListHints.large)) {
                observer.renew(Observer.enter(core))
                return observer
            }
            return Observer(core: core, owner: owner)
        }
    }

    /// Makes an observer of this source in the list of `kind`, and stores `content` in it. The
    /// caller registers it.
    @inlinable
    borrowing func makeObserver<Content: ~Copyable>(
        of kind: ObserverKind<Content>,
        holding content: consuming Content,
        owner: WeakReference? = nil
    ) -> Observer {
        let observer = makeObserver(in: kind.list, owner: owner)
        observer.setContent(content, of: kind)
        return observer
    }

    @usableFromInline
    borrowing func makeObserver(in list: ObserverListIndex, owner: WeakReference?) -> Observer {
        withCore { Observer(core: $0, owner: owner, ObserverMark(list)) }
    }

    /// Makes an observer of this source, whose changes have versions. The caller stores the
    /// observer's content, and registers it. `marks` are added to its mark.
    @usableFromInline
    borrowing func makeVersionedObserver(owner: WeakReference? = nil, _ marks: ObserverMark = []) -> VersionedObserver {
        withCore { VersionedObserver(core: $0, owner: owner, marks) }
    }

    /// Makes an observer of this source, whose changes have versions, in the list of `kind`, and
    /// stores `content` in it. The caller registers it.
    @inlinable
    borrowing func makeVersionedObserver<Content: ~Copyable>(
        of kind: ObserverKind<Content>,
        holding content: consuming Content,
        owner: WeakReference? = nil,
        _ marks: ObserverMark = []
    ) -> VersionedObserver {
        let observer = makeVersionedObserver(owner: owner, marks.union(ObserverMark(kind.list)))
        observer.setContent(content, of: kind)
        return observer
    }

    /// Calls `body` with the core, which is made on first use, and returns the result. No reference
    /// is counted.
    @inline(__always)
    private borrowing func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return body(makeCore(label: "")) }
        // Safe: as in withExistingCore(_:).
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            ._withUnsafeGuaranteedRef { body($0) }
    }

    private borrowing func makeCore(label: String) -> RegistryCore {
        // Safe: an atomic is lent in place. The core does not use the address after the source is
        // gone: the source's deinit calls `endSource`, which makes the core forget it.
        let core = unsafe withUnsafePointer(to: head) { unsafe RegistryCore(head: $0, label: label) }
        let unmanaged = unsafe Unmanaged.passRetained(core)
        // Release and acquire: pairs with the loads of `coreAddress`. If two threads make a core,
        // only one core stays.
        let (exchanged, original) = unsafe coreAddress.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: unmanaged.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        if exchanged {
            ReclamationThread.shared.startLooking()
            return core
        }
        unsafe unmanaged.release()
        // Safe: this list owns a reference.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: original)!).takeUnretainedValue()
    }

    /// Returns the address of the table of the mailboxes or of the links; 0 if there is none. No
    /// reference is counted. (P15)
    @usableFromInline
    borrowing func loadFurtherHead(of list: ObserverListIndex) -> UInt {
        // Acquire: pairs with the release in replaceTableLocked(of:by:).
        withExistingCore { unsafe $0.furtherHead(of: list).pointee.load(ordering: .acquiring) } ?? 0
    }

    /// Calls `body` with the core, and returns the result; returns nil if no core is made yet. No
    /// reference is counted.
    @inline(__always)
    private borrowing func withExistingCore<Result>(_ body: (RegistryCore) -> Result) -> Result? {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return nil }
        // Safe: this list owns a reference, and exists until the return.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            ._withUnsafeGuaranteedRef { body($0) }
    }

    /// Ends every observation of the source. The source calls it last, in its `deinit`. (P12)
    ///
    /// - Parameter reason: The reason that listeners for the end receive.
    borrowing func endSource(_ reason: ObservationEnd = .sourceDeleted) {
        guard !Fork.isInChild, let core = existingCore else { return }
        var ends = core.endSource(reason)
        ends.perform(in: core)
    }
}

extension ObserverList {
    /// Whether the source may have mailboxes, which receive the events.
    @inlinable @inline(__always)
    internal var mayHaveMailboxes: Bool { mayHave(ListHints.mailboxes) }

    /// Puts an event into the mailboxes. The caller must hold the lock that orders the source's
    /// events, if there is one.
    @inlinable @inline(never)
    internal borrowing func enqueue<Event: Sendable>(_ event: Event) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.enqueue(event) }
        }
    }

    /// Wakes the deliveries that run on other threads and empty the mailboxes. Called under no
    /// lock, before the inline callbacks and before dropped events are destroyed, because both may
    /// block. (P7)
    @inlinable @inline(never)
    internal borrowing func wakeMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.wake() }
        }
    }

    /// Runs serial deliveries on this thread, and destroys the events that mailboxes have dropped.
    /// Called under no lock, after the inline callbacks.
    @inlinable @inline(never)
    internal borrowing func drainMailboxes<Event: Sendable>(of event: Event.Type) {
        walk(.mailboxes()) { (mailbox: borrowing LentMailbox<Event>) in
            mailbox.withObject { receiver in receiver.drain() }
        }
    }
}

/// The low bits of the word that has the address of the callbacks' table (`ObserverList.head`).
/// They say which other observers a source may have, and whether that table is large.
///
/// The bits are written under the lock of the source's `RegistryCore`, and read without it. A
/// reader sees the hint for an observer whose registration happened before. It may miss an observer
/// that is registered at the same time, which P1 allows.
@usableFromInline
internal enum ListHints {
    /// The source may have mailboxes.
    @inlinable static var mailboxes: UInt { 1 }
    /// The source may have links: observers of paths that lead on from a property, and of derived
    /// values that depend on it.
    @inlinable static var links: UInt { 2 }
    /// The source may have observers whose mark is `flagged`.
    @inlinable static var flagged: UInt { 4 }

    /// The callbacks' table is large: the table and the memory that its closures read exceed the
    /// processor's caches.
    @inlinable static var large: UInt { 8 }

    /// All hint bits. A table is allocated at a multiple of sixteen, so these bits of its address
    /// are 0.
    @inlinable static var mask: UInt { 15 }
}

extension ObserverList {
    /// Whether the source may have observers, in any list.
    @inlinable @inline(__always)
    internal var isPossiblyObserved: Bool {
        // Relaxed: a hint.
        head.load(ordering: .relaxed) != 0
    }

    /// Whether at least one of these hints is set.
    @inlinable @inline(__always)
    internal borrowing func mayHave(_ hints: UInt) -> Bool {
        // Relaxed: a hint. The tables of the lists are loaded with an acquire.
        head.load(ordering: .relaxed) & hints != 0
    }
}
