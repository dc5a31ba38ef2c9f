// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ObserverList {
    /// Does what a notification must not do. (P15)
    @usableFromInline
    borrowing func misbehave() {
        // The compiler does not know the array's size, so it cannot put the array on the stack.
        if mutant(.aNotificationAllocates) {
            withExtendedLifetime([UInt8](repeating: 0, count: Int(head.load(ordering: .relaxed) & 63) + 1)) {}
        }
        if mutant(.aNotificationTakesALock) { existingCore?.lock.withLock {} }
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    @usableFromInline
    func clearOutermostPin() { unsafe inlineFrames.pointee.pin.address.store(0, ordering: .releasing) }
}

extension TableEntry {
    /// Whether the mark is looked at before `current` is stored, and says that the observation has
    /// ended.
    @usableFromInline
    var isSkippedEarly: Bool { mutant(.markIsTestedBeforeCurrentIsStored) && !isActive }

    /// Whether the mark is not looked at where it should be.
    @usableFromInline
    var isDueUntested: Bool { mutant(.markIsTestedBeforeCurrentIsStored) || mutant(.markIsNotTested) }
}

/// A mistake of a walk at an entry.
@usableFromInline
internal enum Misstep { case none, skip, stop, again }

extension Frame {
    @usableFromInline
    func clearPin() { pin.address.store(0, ordering: .releasing) }

    @usableFromInline
    func misstep(at index: Int, _ observer: UInt) -> Misstep {
        if mutant(.currentIsClearedBeforeTheCallback) { current.address.store(0, ordering: .releasing) }
        if mutant(.aDeliveryIsDropped), index & 1023 == 3 { return .skip }
        if mutant(.aLongWalkEndsEarly), index == 64 { return .stop }
        if mutant(.aDeliveryIsRepeated), index & 1023 == 3 { return .again }
        // The first few are called on every thread.
        if mutant(.anObserverReceivesItsOwnThreadsEventsAlone), index >= 8,
            unsafe Observer.at(observer).note != UInt(bitPattern: ThreadRecord.current)
        {
            return .skip
        }
        return .none
    }
}

extension ObserverList {
    @inlinable
    borrowing func walkClosuresByAnEarlyStart(_ version: UInt64, _ call: (borrowing LentClosure) -> Void) {
        unsafe withPinnedTable(of: .callbacks) { contents, frame in
            let latest = unsafe contents.pointee.latestStart.load(ordering: .relaxed)
            inject("walk.count")
            let count = unsafe contents.pointee.loadCount()
            unsafe contents.pointee.visit(count, frame, fenced: AsymmetricBarrier.needsFences) { observer, callback in
                guard latest < version || VersionedObserver.receives(version, at: observer) else { return }
                unsafe call(LentClosure(observer: observer, callback))
            }
        }
    }
}
