// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Fault {
    /// The library asks for a thread, and the system refuses it.
    static let refusal = Fault("x", "no thread is to be had")
    /// The thread exits at this place.
    static let exit = Fault("y", "the thread exits")
}

/// The library's virtual backend: the scheduler provides the library's locks, waits, grace periods
/// and threads.
///
/// While a program runs, it frees no memory that threads under test can reach, and remembers what
/// was freed. Using freed memory is therefore a violation at once, not a crash some time later.
final class LibraryBackend: ExplorationBackend, @unchecked Sendable {
    // Unchecked: everything mutable belongs to the running thread.
    let scheduler: ControlledScheduler

    /// The number of calls that are running, by the observer's address. `destroyed` counts how
    /// often the closure was destroyed.
    private var calls: [UInt: Int] = [:]
    private var destroyed: [UInt: Int] = [:]
    /// The values that were destroyed, by address. Their boxes are kept.
    private var values: [UInt: AnyObject] = [:]

    /// Whether the program itself has faults.
    var allowsFaults = false
    /// The faults that the search adds to the program.
    var faults: ExploredFaults = []
    /// The number of times that the library is still refused a thread.
    private var refusalsLeft = Int.max
    /// Whether the reclamation thread must end now.
    private var endsThreadNow = false

    init(_ scheduler: ControlledScheduler) { self.scheduler = scheduler }

    /// Frees the objects that the last program has left. Call it while no thread runs.
    func reset() {
        calls = [:]
        destroyed = [:]
        values = [:]
        // Until the threads of a program run, the library is refused every thread.
        refusalsLeft = faults.contains(.noThread) ? .max : 0
        Instrumentation.emptyQuarantine()
        unsafe Instrumentation.failuresBeforeCopies = nil
    }

    /// Ends the refusals of the start, because the threads of a program begin.
    func begin() { refusalsLeft = 0 }

    /// Waits until the library has done all of its work, for which it may have been refused
    /// threads. (P9)
    func drain() {
        let outcome = ConcurrentObserveDiagnostics.drain()
        if outcome != .finished { scheduler.fail("P16.backlog-drains", "drain ended with \(outcome)") }
    }

    /// Ends the reclamation thread, so that the next program begins without one. Call it while no
    /// thread runs.
    func endReclamationThread() {
        refusalsLeft = 0
        var isDone = false
        for ends in [false, true] {
            endsThreadNow = ends
            isDone = false
            let drain = {
                self.drain()
                isDone = true
            }
            let run = scheduler.run([("end", drain)])
            guard isDone, run.failure == nil else {
                harnessFailure("the library does not come to rest between programs")
            }
        }
        endsThreadNow = false
    }

    /// The number of destroyed values of properties.
    var valuesDestroyed: Int { values.count }

    /// Returns the number of times that the closure of the observation was destroyed.
    func destructions(of token: ObservationToken) -> Int { destroyed[Instrumentation.address(of: token)] ?? 0 }

    // MARK: Steps and waits

    /// Calls `body` with the calling thread.
    ///
    /// - Returns: False if the scheduler does not control this thread.
    private func scheduled(_ body: (ScheduledThread) -> Void) -> Bool {
        guard let thread = ScheduledThread.current else { return false }
        body(thread)
        return true
    }

    func step(_ name: StaticString) -> Bool { scheduled { scheduler.step($0, name) } }

    /// Takes a step in user code that the library has called. The thread may exit there. (P17)
    func userStep(_ name: StaticString) {
        guard let thread = ScheduledThread.current else { return }
        scheduler.step(thread, name)
        if faults.contains(.exit) { mayExit(thread) }
    }

    func mayExit(_ thread: ScheduledThread) {
        guard scheduler.goesWrong(thread, .exit), !ThreadExit.traps else { return }
        scheduler.fail("P17.exit-traps", "a thread has exited inside user code, and the library has not trapped")
    }

    func faultPoint(_ name: StaticString) -> Bool {
        scheduled { if allowsFaults || !faults.isEmpty { scheduler.step($0, name) } }
    }

    func refusesThread() -> Bool {
        guard let thread = ScheduledThread.current else { return false }
        guard faults.contains(.noThread) else { return allowsFaults && scheduler.goesWrong(thread, .refusal) }
        if refusalsLeft > 0 {
            refusalsLeft -= 1
            return true
        }
        guard scheduler.goesWrong(thread, .refusal) else { return false }
        refusalsLeft = Self.furtherRefusals
        return true
    }

    /// The number of further refusals after the first one.
    private static var furtherRefusals: Int { 2 }

    func endsReclamationThread() -> Bool { ScheduledThread.current != nil && endsThreadNow }

    func wait(_ name: StaticString, atMost limit: Duration?, until condition: () -> Bool) -> Bool {
        scheduled { scheduler.wait($0, name, atMost: limit, until: condition) }
    }

    func park(_ name: StaticString, until condition: () -> Bool) -> Bool {
        scheduled { scheduler.wait($0, name, mayRest: true, until: condition) }
    }

    func pause() -> Bool { scheduled { scheduler.pause($0) } }

    func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        scheduled { _ in
            if !scheduler.start(name.description, body) { harnessFailure("the library starts too many threads") }
        }
    }

    var now: ContinuousClock.Instant? {
        guard ScheduledThread.current != nil else { return nil }
        return Self.origin.advanced(by: scheduler.now)
    }

    private static let origin = ContinuousClock.now

    // MARK: Grace periods

    func changeReadDepth(by change: Int) {
        guard let thread = ScheduledThread.current else { return }
        thread.readDepth += change
        if thread.readDepth == 0 { thread.readSections += 1 }
    }

    func awaitReaders() -> Bool {
        scheduled { thread in
            scheduler.step(thread, "grace period begins")
            let readers = scheduler.threads.filter { $0.readDepth > 0 }.map { (thread: $0, section: $0.readSections) }
            scheduler.wait(thread, "grace period") { readers.allSatisfy { $0.thread.readSections != $0.section } }
        }
    }

    // MARK: What no thread may use any more

    func willCall(observer: UInt) {
        calls[observer, default: 0] += 1
        if destroyed[observer] != nil {
            scheduler.fail("P14.not-while-called", "a closure is called that is destroyed")
        }
    }

    func didCall(observer: UInt) {
        calls[observer, default: 0] -= 1
    }

    func willDestroy(observer: UInt) {
        guard ScheduledThread.current != nil else { return }
        if Instrumentation.forbiddenDepth != 0 {
            scheduler.fail("P5.no-lock-around-user-code", "a closure is destroyed under a lock or in a read section")
        }
        if calls[observer, default: 0] != 0 {
            scheduler.fail("P14.not-while-called", "a closure is destroyed while it is being called")
        }
        destroyed[observer, default: 0] += 1
        if destroyed[observer] != 1 { scheduler.fail("P14.destroyed-once", "a closure is destroyed twice") }
    }

    func willDestroy(value: UInt) -> Bool {
        guard ScheduledThread.current != nil else { return false }
        // Safe: the caller destroys the value in this box, and owns the box.
        let box = unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: value)!).takeUnretainedValue()
        if values.updateValue(box, forKey: value) != nil {
            scheduler.fail("P14.value-destroyed", "a value is destroyed twice")
        }
        return true
    }

    func didRead(value: UInt) {
        if values[value] != nil {
            scheduler.fail("P14.not-while-read", "a value is read that is destroyed")
        }
    }

    func didWalkFreedTable() {
        scheduler.fail("memory.table-in-use", "a walk ends on a table that was freed meanwhile")
    }
}
