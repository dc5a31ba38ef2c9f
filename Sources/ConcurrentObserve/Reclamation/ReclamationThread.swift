// SPDX-License-Identifier: Apache-2.0

// # Reclamation: when memory that other threads may still use is freed
//
// The room finds out when no thread can be using a replaced or ended object any more, and then
// reclaims the object. It uses Hazards and Platform.
//
// The main types. Begin with `Retirable.swift`, then read `ReclamationThread+Pass.swift`.
// - `Retirable`: an object that can be retired. Its `hold` says what delays the reclaiming.
// - `Magazine`, `ReferenceRing`: a thread's retired references. They need no `Retirable`.
// - `ReclamationThread`: takes what all threads have retired, in passes.
// - `Triage`: decides by a `FrameScan` what a pass does with each item.
// - `DeinitThreads`: the threads that reclaim items whose reclaiming runs user code.
//
// `startIfNeeded` starts the reclamation thread, which never ends. The life of a retired item:
// 1. The owner makes the item unreachable for new walks and readers, and releases its locks.
// 2. `ThreadRecord.retire` pushes the item on the stack of the thread's record. The push is a
//    release, and sequentially consistent, as the operations of `Parking` are: either `wake` finds
//    the reclamation thread parked and signals it, or that thread finds the item before it sleeps.
// 3. `pass` holds `passLock`. `takeRetired` takes each stack by an exchange that acquires. It also
//    empties the rings, and claims the references that have waited in a magazine for three passes.
//    During a drain, it claims all references in magazines.
// 4. If a table was taken, `waitForGracePeriod` waits until each read section that was open has
//    ended. If such a section loaded the table's address, its pin is visible afterwards.
// 5. `AsymmetricBarrier.heavy` pairs with the light barriers. A thread that stored an address in
//    its frame too late for the scan finds that the item was replaced or has ended.
// 6. `FrameScan` loads the frames with acquire. `Triage` keeps each item that a frame holds in
//    `held`, for the next pass. Such an item delays no other item.
// 7. The pass reclaims the items that run no user code. `DeinitThreads.enqueue` takes over the
//    others, and `DeinitThreads.run` reclaims them under no lock. `RetiredItem.release` then
//    releases the reference, or recycles an observer.
//
// A thread releases a full magazine itself: `Magazine.release` claims the references, executes the
// heavy barrier, and scans. It releases each reference whose object is not pinned, and retires each
// of the others as an item.
//
// P1 to P25 are the promises of the article Contract. Every part of the room obeys these rules:
// - The room runs user code under no lock, in no read section, and in no reclamation pass. (P5)
// - The batch is taken before the barrier, and the frames are read after it. (P14)
// - A thread that retires may wait for ten milliseconds, so it holds no lock of the library. A
//   pass, which holds `passLock`, retires without a wait. (P16)
//
// The walk to read: `run`, `pass`, `takeRetired`, `waitForGracePeriod`, `heavy`,
// `FrameScan.init`, `Triage.reclaimOrSort`, `DeinitThreads.enqueue`; then, on a deinit thread,
// `DeinitThreads.run`, `Retirable.reclaim`.

import ConcurrentObservePlatform
import Synchronization

/// The thread that waits for grace periods, scans the frames, and reclaims items that no thread can
/// be using. There is one for the process.
///
/// The thread starts with the first observation or the first retirement. It runs no user code: it
/// hands items whose reclaiming runs user code to the `DeinitThreads`. (P5) It works in batches:
/// see `pass()`.
@safe internal final class ReclamationThread: @unchecked Sendable {
    // Unchecked: `held` is guarded by `passLock`; the rest is constant, atomic or locks by itself.
    static let shared = ReclamationThread()

    /// A thread holds it during a pass. The holder may take the locks of the batches, of the
    /// callback ages and of the deinit threads.
    let passLock = Lock()
    /// Items that some frame held at the last scan.
    var held: [RetiredWork] = []

    let batches = Batches()
    private let wakeUp = EventCount()
    /// It is signalled when a pass has taken the retired items.
    let taken = EventCount()

    /// Decides whether a retiring thread must signal the reclamation thread, because that thread
    /// sleeps or does not exist.
    ///
    /// Each retirement reads it. It is static, so that the read need not check whether the shared
    /// object exists.
    private static let parking = Parking()
    private let thread = Atomic<ThreadState>(.none)
    let gracePeriods = Atomic<UInt>(0)
    /// The sweeper copies a magazine's references to this memory while it claims them. `passLock`
    /// guards this memory.
    let sweepRoom = UnsafeMutablePointer<UInt>.allocate(capacity: Int(Magazine.capacity))
    /// The number of threads that are inside `drain(until:)`, which waits until all retired items
    /// are reclaimed. If there are any, each pass sweeps all magazines.
    let drains = Atomic<Int>(0)

    /// The shortest pause between two passes. While only held items, empty boxes in pools, or
    /// references in magazines remain, each pause is twice as long as the previous one, up to
    /// `longestPause`.
    private static var shortestPause: Duration { .milliseconds(1) }
    /// The longest of these pauses. If nothing remains, the thread parks, and makes a pass about
    /// once a second: see `CallbackAges.pause`.
    static var longestPause: Duration { .milliseconds(20) }

    private init() {}

    var gracePeriodCount: UInt { gracePeriods.load(ordering: .relaxed) }  // Relaxed: a statistic.

    /// Whether the thread exists. Once started, it never ends.
    private enum ThreadState: UInt8, AtomicRepresentable {
        case none, starting, running
    }

    var isRunning: Bool {
        // Relaxed: nothing is read because of it.
        thread.load(ordering: .relaxed) == .running
    }

    // MARK: What other threads call

    /// Makes sure that a retired item is noticed: at once if the thread sleeps or `urgently` is
    /// true, otherwise when the thread's present pause ends.
    ///
    /// - Returns: False if a signal was necessary, but the thread does not run yet: the system
    ///   cannot start it, or another thread is just starting it. A caller that waits must ask
    ///   again.
    @discardableResult
    static func wake(urgently: Bool) -> Bool { parking.needsSignal(urgently: urgently) ? shared.signal() : true }

    /// Starts the reclamation thread if it does not exist. A thread calls this function after it
    /// has put a reference into a magazine or ring that was not empty. The first reference there
    /// woke the reclamation thread, or the system could not start it then. (P14)
    @inline(__always)
    static func startIfAbsent() {
        if _slowPath(parking.isAbsent) { _ = shared.signal() }
    }

    private func signal() -> Bool {
        startIfNeeded()
        wakeUp.signal()
        return isRunning
    }

    /// Starts the thread, if there is none, so that it looks for callbacks that do not return.
    func startLooking() {
        if CallbackAges.pause != nil { startIfNeeded() }
    }

    private func startIfNeeded() {
        guard
            // Relaxed: a hint, which the exchange checks.
            thread.load(ordering: .relaxed) == .none,
            // Relaxed: the winner starts the thread; the others need nothing from it.
            thread.compareExchange(expected: .none, desired: .starting, ordering: .relaxed).exchanged
        else { return }
        let isStarted = LibraryThread.start(named: "observe-reclaim") { ReclamationThread.shared.run() }
        // Relaxed: as in isRunning. If the system cannot start a thread, the next retirement tries
        // again, and so does each thread that waits. No item is lost.
        thread.store(isStarted ? .running : .none, ordering: .relaxed)
    }

    // MARK: The thread

    private func run() {
        Self.parking.unpark()
        var pause = Self.shortestPause
        var quietPasses = 0
        while true {
            let ticket = wakeUp.ticket()
            let result = pass()
            let deinitThreadsAreBehind = DeinitThreads.shared.startThreadsIfBehind()
            if result.took > 0 || deinitThreadsAreBehind {
                pause = Self.shortestPause
                quietPasses = 0
            } else if result.stillHeld > 0 || result.keepsBoxes || magazinesAreFilled {
                pause = min(pause * 2, Self.longestPause)
                quietPasses = 0
            } else {
                quietPasses += 1
            }
            if quietPasses > 2 {
                // Three quiet passes are required again before the next sleep. Otherwise a thread
                // that retires without a pause would end each sleep at once, and both threads would
                // mostly execute barriers.
                if park(ticket) { quietPasses = 0 }
            } else {
                wakeUp.wait(ticket, atMost: pause)
            }
        }
    }

    /// Sleeps unless something is retired already.
    ///
    /// - Returns: Whether something was retired, or the thread was signalled.
    private func park(_ ticket: EventCount.Ticket) -> Bool {
        Self.parking.park()
        let isNeeded = hasRetired
        if !isNeeded { wakeUp.wait(ticket, atMost: CallbackAges.pause) }
        CallbackAges.shared.observe()
        PendingEvents.look()
        Self.parking.unpark()
        return isNeeded || wakeUp.isSignalled(after: ticket)
    }

    /// Whether something was retired, and no pass has taken it yet.
    private var hasRetired: Bool {
        // After the barrier, this function sees each reference that was put into a magazine or ring
        // that was not empty; pairs with the light barriers in Magazine.put(_:weight:) and
        // ReferenceRing.put(_:).
        AsymmetricBarrier.heavy()
        var found = magazinesAreFilled
        unsafe ThreadRecords.shared.forEach { record in
            unsafe record.forRing { if unsafe !$0.pointee.isEmpty { found = true } }
        }
        unsafe ThreadRecords.shared.forEach { record in
            // Sequentially consistent, as is the load of the list of records: ordered after the
            // store in Parking.park(); pairs with the push.
            if unsafe record.pointee.retired.load(ordering: .sequentiallyConsistent) != 0 { found = true }
        }
        return found
    }
}
