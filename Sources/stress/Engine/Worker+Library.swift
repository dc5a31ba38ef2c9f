// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The record of one notification.
struct PassRecord {
    /// Calls of observers that stay registered throughout, and the sum of their numbers.
    var stableCalls = 0
    var stableSum = 0
    /// Calls of the observer that this thread watches.
    var watched: UInt64 = 0
    var watchedCalls = 0
    /// All calls.
    var calls = 0
    /// Observers that this thread has registered, or cancelled, during the pass: none may be called
    /// in it.
    var mustNotCall: Set<UInt64> = []
}

/// A worker's record of the library.
private struct LibraryRecord {
    /// Closures that the thread has made.
    var closures: UInt64 = 0
    /// The record of the pass that this thread is in.
    var pass = PassRecord()
    /// Snapshots of this thread that have held off publication: in the instrumented build.
    var snapshotsHeldOff: UInt64 = 0
    /// The closure whose destruction this thread has asked for by `cancelAndWait`.
    var waitsFor: ProbeReference?
    var notifications: UInt64 = 0

    /// Keeps the memory of a record. A callback notes something in it many times, so it is reached
    /// by its address: references would be counted.
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

    /// A number that no other closure of the run has.
    func uniqueSerial() -> UInt64 {
        unsafe own.pointee.closures += 1
        return unsafe UInt64(index + 1) << 40 | own.pointee.closures
    }

    /// Notifies as one pass, and returns what the pass has met.
    @discardableResult
    func pass(_ registry: ObserverRegistry<UInt64>, watching probe: ProbeReference? = nil) -> PassRecord {
        let outer = pass
        defer { pass = outer }
        pass = PassRecord()
        pass.watched = probe?.serial ?? 0
        notify(registry, operations)
        return pass
    }

    /// Notifies, and measures every sixteenth time.
    func notify<Event>(_ registry: ObserverRegistry<Event>, _ event: Event) {
        unsafe own.pointee.notifications &+= 1
        guard unsafe own.pointee.notifications & 15 == 0, depth == 0 else { return registry.notify(event) }
        measure("notify") { registry.notify(event) }
    }

    /// Waits, without using the library, until its threads have brought `condition` about, and
    /// notes how long it took where a bound asks for it.
    ///
    /// - Returns: False if the condition does not hold after ten seconds in which these threads
    ///   were let run.
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
