// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observers of one source: what `ObserverRegistry` and properties embed.
///
/// Two words while it has no observers. A notification reads `head`, the table of the first list,
/// and what hangs below it. Everything else goes through the core, which exists from the first
/// observer on: registration, the end, and the heads of the other lists. Hints in `head` say what
/// there is of that, so that a source without pays one load for all.
@usableFromInline
internal struct ObserverList: ~Copyable, Sendable {
    /// The address of the contents of the first list's current table, or 0 without observers; and
    /// `ListHints`.
    @usableFromInline let head = Atomic<UInt>(0)

    /// The address of the core, to which this list owns a reference, or 0.
    @usableFromInline let coreAddress = Atomic<UInt>(0)

    @usableFromInline
    init() {}

    deinit {
        // Acquire: pairs with the release in makeCore(label:); the last reference to the source has
        // been dropped.
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return }
        // Safe: the reference that makeCore(label:) has kept. The last of source and observers
        // releases it.
        let core = unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
        if unsafe core._withUnsafeGuaranteedRef({ $0.countEndOfSource() }) { unsafe core.release() }
    }

    /// The core, if there has been an observer.
    var existingCore: RegistryCore? {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return nil }
        // Safe: this list owns a reference.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }

    /// The core; made on first use. The list must be stored in an object, where its address does
    /// not change.
    @usableFromInline
    borrowing func core(label: String = "") -> RegistryCore { existingCore ?? makeCore(label: label) }

    /// An observer of this source, without its closure, that the caller registers next.
    @usableFromInline
    borrowing func makeObserverToRegister() -> Observer {
        withCore { core in
            let observer = Observer.recycled(isOneOfMany: mayHave(ListHints.large)) ?? Observer()
            unsafe observer.renew(observer.enterAhead(Unmanaged.passUnretained(core)))
            return observer
        }
    }

    /// An observer of this source, without its closure, that has not begun.
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

    /// An observer of a kind, with what it holds, that has not begun.
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

    /// An observer of a source whose changes have versions, without its closure, that has not
    /// begun.
    @usableFromInline
    borrowing func makeVersionedObserver(owner: WeakReference? = nil, _ marks: ObserverMark = []) -> VersionedObserver {
        withCore { VersionedObserver(core: $0, owner: owner, marks) }
    }

    /// An observer of a kind, with what it holds, that has not begun.
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

    /// Calls `body` with the core, which is made on first use. Counts no reference.
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
        // Safe: an atomic is lent in place. The source outlives the address: its deinit calls
        // `endSource`, which makes the core forget it.
        let core = unsafe withUnsafePointer(to: head) { unsafe RegistryCore(head: $0, label: label) }
        let unmanaged = unsafe Unmanaged.passRetained(core)
        // Release and acquire: pairs with the loads above. Two threads may get here: one core
        // stays.
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

    /// The address of the table of a list that is not the first, or 0. Counts no reference. (P15)
    @usableFromInline
    borrowing func loadFurtherHead(of list: ObserverListIndex) -> UInt {
        // Acquire: pairs with the release that published the table.
        withExistingCore { unsafe $0.furtherHead(of: list).pointee.load(ordering: .acquiring) } ?? 0
    }

    /// Calls `body` with the core, if there is one. Counts no reference.
    @inline(__always)
    private borrowing func withExistingCore<Result>(_ body: (RegistryCore) -> Result) -> Result? {
        // Acquire: pairs with the release in makeCore(label:).
        let address = coreAddress.load(ordering: .acquiring)
        guard address != 0 else { return nil }
        // Safe: this list owns a reference, and is not gone before the return.
        return unsafe Unmanaged<RegistryCore>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            ._withUnsafeGuaranteedRef { body($0) }
    }

    /// Ends every observation, as the last thing in the source's life. (P12)
    ///
    /// - Parameter reason: What listeners for the end receive.
    borrowing func endSource(_ reason: ObservationEnd = .sourceDeleted) {
        guard let core = existingCore else { return }
        var ends = core.endSource(reason)
        ends.perform(in: core)
    }
}
