// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The record of one notification that the thread makes.
struct PassRecord {
    /// The number of calls of observers that are always registered. `stableSum` is the sum of their
    /// numbers.
    var stableCalls = 0
    var stableSum = 0
    /// The serial number of the observer or of the change that this thread watches; 0 for none.
    /// `watchedCalls` is the number of its calls.
    var watched: UInt64 = 0
    var watchedCalls = 0
    /// The number of all calls.
    var calls = 0
    /// The serial numbers of observers that this thread has registered or cancelled during the
    /// notification. None of them may be called in it.
    var mustNotCall: Set<UInt64> = []
}

/// A worker's counts of its use of the library.
private struct LibraryRecord {
    /// The number of closures that the thread has made.
    var closures: UInt64 = 0
    /// The record of the notification that this thread is making.
    var pass = PassRecord()
    /// The number of this thread's snapshots that have held off publication. It is counted only in
    /// the instrumented build.
    var snapshotsHeldOff: UInt64 = 0
    /// The closure for whose destruction this thread waits in `cancelAndWait`; nil if it does not
    /// wait.
    var waitsFor: ProbeReference?
    var notifications: UInt64 = 0

    /// Owns the memory of a record. Callbacks write to the record very often. They use it by its
    /// address, so that no reference is counted.
    @safe final class Owner {
        let memory = UnsafeMutablePointer<LibraryRecord>.allocate(capacity: 1)

        init() { unsafe memory.initialize(to: LibraryRecord()) }

        deinit {
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
        }
    }
}

extension Worker {
    /// Safe to use while the worker lives: the worker keeps the owner of the memory.
    @unsafe private var own: UnsafeMutablePointer<LibraryRecord> {
        if let memory = unsafe hostRecord {
            // Nothing else is stored there.
            return unsafe memory.assumingMemoryBound(to: LibraryRecord.self)
        }
        let owner = LibraryRecord.Owner()
        unsafe setHostRecord(owner.memory, of: owner)
        return unsafe owner.memory
    }

    var pass: PassRecord {
        get { unsafe own.pointee.pass }
        _modify { yield unsafe &own.pointee.pass }
    }

    var snapshotsHeldOff: UInt64 {
        get { unsafe own.pointee.snapshotsHeldOff }
        set { unsafe own.pointee.snapshotsHeldOff = newValue }
    }

    var waitsFor: ProbeReference? {
        get { unsafe own.pointee.waitsFor }
        set { unsafe own.pointee.waitsFor = newValue }
    }

    /// Returns a number that no other closure of the run has.
    func uniqueSerial() -> UInt64 {
        unsafe own.pointee.closures += 1
        return unsafe UInt64(index + 1) << 40 | own.pointee.closures
    }

    /// Notifies once, and returns the record of this notification.
    @discardableResult
    func pass(_ registry: ObserverRegistry<UInt64>, watching probe: ProbeReference? = nil) -> PassRecord {
        let outer = pass
        defer { pass = outer }
        pass = PassRecord()
        pass.watched = probe?.serial ?? 0
        notify(registry, operations)
        return pass
    }

    /// Notifies, and measures the duration of every sixteenth call.
    func notify<Event>(_ registry: ObserverRegistry<Event>, _ event: Event) {
        unsafe own.pointee.notifications &+= 1
        guard unsafe own.pointee.notifications & 15 == 0, depth == 0 else { return registry.notify(event) }
        measure("notify") { registry.notify(event) }
    }

    /// Waits until threads of the library have made `condition` true, and does not use the library
    /// for that. Records the duration if there is a bound.
    ///
    /// - Returns: False if the condition does not hold after ten seconds in which these threads got
    ///   enough processor time.
    func wait(_ bound: TimedBound? = nil, until condition: () -> Bool) -> Bool {
        for _ in 0..<3 {
            let (own, library) = (QueueTimes.own, Starvation(of: .named("observe-")))
            let start = nanoseconds()
            while !condition(), nanoseconds() - start < 10_000_000_000 { usleep(200) }
            let duration = nanoseconds() - start
            bound?.record(duration, inLine: QueueTimes.own - own + library.total)
            if condition() { return true }
            if !library.hasHappened {
                WaitInVain.note(duration)
                return false
            }
            begin("wait on")
        }
        return true
    }
}

/// Sleeps a fifth of a millisecond.
func sleepBriefly() { usleep(200) }
