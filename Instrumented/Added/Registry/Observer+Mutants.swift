// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Notes the thread that registers.
    final func noteThread() { note = unsafe UInt(bitPattern: ThreadRecord.current) }

    final func loadHomeTwice() -> UInt {
        // Relaxed, both: the bug is that these are two steps.
        let first = home.load(ordering: .relaxed)
        if first & 1 != 0 { return first }
        inject("observer.home")
        // Taken for a core's address, whatever it is now: even, so that the caller does not look at
        // the tag once more.
        let second = home.load(ordering: .relaxed)
        return second &+ (second & 1)
    }

    /// Runs the canceller's seeded bugs. Returns true if they have destroyed the closure.
    func finishesAtOnce() -> Bool {
        if mutant(.anEndIsDeliveredBeforeTheLastCall) { notifyListeners() }
        return mutant(.aClosureIsDestroyedByItsCanceller) && finishUnlessRunning()
    }

    /// True if the closure is destroyed, and the end marked.
    func finishesWrongly() -> Bool {
        if mutant(.closureIsDestroyedTwice) { destroyContent() }
        if mutant(.anEndLeavesMemoryBehind) { leak() }
        if mutant(.closureIsDestroyedUnderTheLock) {
            core.lock.withLock { destroyContent() }
            markFinished()
            return true
        }
        guard mutant(.aLateListenerIsNotNotified) else { return false }
        destroyContent()
        // Relaxed: the bug is that these are two steps.
        let early = mark.load(ordering: .relaxed)
        inject("finish.mark")
        mark.bitwiseOr(ObserverMark.finished.rawValue, ordering: .releasing)
        if ObserverMark(rawValue: early).contains(.hasListeners) { notifyListeners() }
        return true
    }

    private func leak() {
        unsafe UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: MemoryLayout<UInt>.alignment)
            .initializeMemory(as: UInt.self, repeating: UInt(address), count: 512)
    }

    func notifiesWrongly(_ listeners: [OnEnd], _ end: ObservationEnd) -> Bool {
        if mutant(.anEndIsDeliveredTwice) { for listener in listeners { listener(end) } }
        guard mutant(.anEndHasAWrongReason) else { return false }
        for listener in listeners { listener(.ownerDeleted) }
        return true
    }
}

// Wrong, both, and meant to be: nothing keeps the object.
extension WeakReference {
    /// Lends the object, dead or not.
    @inlinable
    func withUnguarded<Object: AnyObject>(_ body: (Object) -> Void) {
        unsafe Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(bitPattern: identity))!)
            ._withUnsafeGuaranteedRef(body)
    }

    /// The object at an address, dead or not.
    static func unguarded<Object: AnyObject>(at address: UInt) -> Object {
        unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }
}
