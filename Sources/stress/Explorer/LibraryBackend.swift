// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Glibc

/// The library's virtual backend: its locks, waits, grace periods and threads are the baton's.
///
/// It frees nothing that threads under test can reach while a program runs, and knows what was freed: whoever uses that is a violation
/// at once, not a crash some time later.
final class LibraryBackend: ExplorationBackend, @unchecked Sendable {
    // Unchecked: everything mutable belongs to whoever has the baton.
    let baton: Baton

    /// Calls that are running, and times that the closure was destroyed, by the observer's address.
    private var calls: [UInt: Int] = [:]
    private var destroyed: [UInt: Int] = [:]
    /// Values that were destroyed, with their boxes, which are kept.
    private var values: [UInt: AnyObject] = [:]

    /// Whether the program allows faults.
    var allowsFaults = false

    init(_ baton: Baton) { self.baton = baton }

    /// Forgets, and frees, what the last program left. While no thread runs.
    func reset() {
        calls = [:]
        destroyed = [:]
        values = [:]
        Instrumentation.emptyQuarantine()
    }

    /// Times that the closure of the observation was destroyed.
    func destructions(of token: ObservationToken) -> Int { destroyed[Instrumentation.address(of: token)] ?? 0 }

    // MARK: Steps and waits

    func step(_ name: StaticString) -> Bool {
        guard let thread = BatonThread.current else { return false }
        baton.step(thread, name)
        return true
    }

    func faultPoint(_ name: StaticString) -> Bool {
        guard let thread = BatonThread.current else { return false }
        if allowsFaults { baton.step(thread, name) }
        return true
    }

    func refusesThread() -> Bool {
        guard allowsFaults, let thread = BatonThread.current else { return false }
        return baton.goesWrong(thread, .refusal)
    }

    func wait(_ name: StaticString, atMost limit: Duration?, until condition: () -> Bool) -> Bool {
        guard let thread = BatonThread.current else { return false }
        baton.wait(thread, name, atMost: limit, until: condition)
        return true
    }

    func park(_ name: StaticString, until condition: () -> Bool) -> Bool {
        guard let thread = BatonThread.current else { return false }
        baton.wait(thread, name, mayRest: true, until: condition)
        return true
    }

    func pause() -> Bool {
        guard let thread = BatonThread.current else { return false }
        baton.pause(thread)
        return true
    }

    func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        guard BatonThread.current != nil else { return false }
        guard baton.start(name.description, body) else { harnessFailure("the library starts too many threads") }
        return true
    }

    var now: ContinuousClock.Instant? {
        guard BatonThread.current != nil else { return nil }
        return Self.origin.advanced(by: baton.now)
    }

    private static let origin = ContinuousClock.now

    // MARK: Grace periods

    func changeReadDepth(by change: Int) {
        guard let thread = BatonThread.current else { return }
        thread.readDepth += change
        if thread.readDepth == 0 { thread.readSections += 1 }
    }

    func awaitReaders() -> Bool {
        guard let thread = BatonThread.current else { return false }
        baton.step(thread, "grace period begins")
        let readers = baton.threads.filter { $0.readDepth > 0 }.map { (thread: $0, section: $0.readSections) }
        baton.wait(thread, "grace period") { readers.allSatisfy { $0.thread.readSections != $0.section } }
        return true
    }

    // MARK: What nobody may use any more

    func willCall(observer: UInt) {
        calls[observer, default: 0] += 1
        if destroyed[observer] != nil { baton.fail("P14.not-while-called", "a closure is called that is destroyed") }
    }

    func didCall(observer: UInt) { calls[observer, default: 0] -= 1 }

    func willDestroy(observer: UInt) {
        guard BatonThread.current != nil else { return }
        if Instrumentation.forbiddenDepth != 0 {
            baton.fail("P5.no-lock-around-user-code", "a closure is destroyed under a lock or in a read section")
        }
        if calls[observer, default: 0] != 0 {
            baton.fail("P14.not-while-called", "a closure is destroyed while it is being called")
        }
        destroyed[observer, default: 0] += 1
        if destroyed[observer] != 1 { baton.fail("P14.destroyed-once", "a closure is destroyed twice") }
    }

    func willDestroy(value: UInt) -> Bool {
        guard BatonThread.current != nil else { return false }
        // Safe: the caller is destroying the value of this very box, and owns it.
        let box = unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(bitPattern: value)!).takeUnretainedValue()
        if values.updateValue(box, forKey: value) != nil {
            baton.fail("P14.value-destroyed", "a value is destroyed twice")
        }
        return true
    }

    func didRead(value: UInt) {
        if values[value] != nil { baton.fail("P14.not-while-read", "a value is read that is destroyed") }
    }

    func didWalkFreedTable() { baton.fail("memory.table-in-use", "a walk ends on a table that was freed meanwhile") }
}
#endif
