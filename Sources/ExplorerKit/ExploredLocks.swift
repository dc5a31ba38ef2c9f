// SPDX-License-Identifier: Apache-2.0

import StressKit

/// A counting semaphore with the methods of `DispatchSemaphore`. Its operations are steps of an
/// exploration.
///
/// On a thread that no exploration runs, it behaves as a semaphore of the system.
public final class ExploredSemaphore: @unchecked Sendable {
    // Unchecked: `holder` belongs to the running thread of an exploration.
    private let count: Guarded<Int>
    /// Signalled once for each increment of the count. A waiting thread that no exploration runs
    /// then checks the count again.
    private let changes = Semaphore()
    private let isLock: Bool
    /// The letter of the exploration's thread that has the lock; nil if none has it, or if this is
    /// not a lock.
    private(set) var holder: Character?

    /// Makes a semaphore.
    ///
    /// - Parameter value: The number of threads that can take it before one waits.
    public convenience init(value: Int) { self.init(value: value, isLock: false) }

    init(value: Int, isLock: Bool) { (count, self.isLock) = (Guarded(value), isLock) }

    /// Subtracts one from the count, and waits while the count is 0. This is one step, and a second
    /// step after a wait.
    public func wait() { take("wait") }

    /// Adds one to the count. Never waits. This is one step.
    public func signal() { give("signal") }

    /// Subtracts one from the count, and waits while the count is 0.
    ///
    /// - Parameter name: The name of the step.
    func take(_ name: StaticString) {
        guard let thread = ScheduledThread.controlled else {
            while !takeNow() { changes.wait() }
            return
        }
        thread.scheduler.step(thread, name)
        thread.waitsFor = self
        thread.scheduler.wait(thread, name) { count.withLock { $0 > 0 } }
        thread.waitsFor = nil
        _ = takeNow()
    }

    /// Traps if the calling thread does not have the lock. Does nothing on a thread that no
    /// exploration runs, because the holder is not known there.
    func expectHeld(_ name: StaticString) {
        guard let thread = ScheduledThread.controlled else { return }
        precondition(holder == thread.letter, "\(name): the thread does not have the lock")
    }

    func give(_ name: StaticString?) {
        if let name { exploredStep(name) }
        if isLock, ScheduledThread.current != nil { holder = nil }
        count.withLock { $0 += 1 }
        changes.signal()
    }

    /// Subtracts one from the count if it is not 0. Returns whether it has done so.
    func takeNow() -> Bool {
        let isTaken = count.withLock { count in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
        if isTaken, isLock, let thread = ScheduledThread.current { holder = thread.letter }
        return isTaken
    }
}

/// A lock that holds a value, with the methods of `Synchronization.Mutex`. Its operations are steps
/// of an exploration: one to lock, a second one after a wait, one to unlock.
///
/// It is an object, so it can be a `let` wherever a mutex can. On a thread that no exploration
/// runs, it behaves as a lock of the system. The compiler does not check that the value stays
/// inside (`sending`). It checks this where the code is compiled with the real type.
public final class ExploredMutex<Value>: @unchecked Sendable {
    // Unchecked: the value is used by the thread that has taken the lock.
    private let lock = ExploredSemaphore(value: 1, isLock: true)
    private var value: Value

    /// Makes a mutex that guards `initialValue`.
    public init(_ initialValue: consuming sending Value) { value = initialValue }

    /// Calls `body` with the value while no other thread has it. Waits for the lock. A thread that
    /// already has the lock deadlocks.
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        lock.take("lock")
        defer { lock.give("unlock") }
        return try body(&value)
    }

    /// Calls `body` with the value while no other thread has it. Returns nil if another thread has
    /// the lock. Never waits.
    public func withLockIfAvailable<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        exploredStep("try lock")
        guard lock.takeNow() else { return nil }
        defer { lock.give("unlock") }
        return try body(&value)
    }
}

/// A lock with a condition, with the methods of Foundation's `NSCondition`. Its operations are
/// steps of an exploration.
///
/// A signal wakes the thread that has waited longest. No thread wakes without a signal. A real
/// condition allows that: wait in a loop.
public final class ExploredCondition: Sendable {
    private let mutex = ExploredSemaphore(value: 1, isLock: true)
    private let waiting = Guarded<[ExploredSemaphore]>([])

    /// Makes a condition whose lock is free.
    public init() {}

    /// Waits for the lock.
    public func lock() { mutex.take("lock") }

    /// Releases the lock. In an exploration, a caller that does not have the lock traps.
    public func unlock() {
        mutex.expectHeld("unlock")
        mutex.give("unlock")
    }

    /// Releases the lock, waits for a signal, and takes the lock again. In an exploration, a caller
    /// that does not have the lock traps.
    public func wait() {
        mutex.expectHeld("wait")
        exploredStep("wait")
        let signal = ExploredSemaphore(value: 0)
        waiting.withLock { $0.append(signal) }
        mutex.give(nil)
        signal.take("wait for a signal")
        mutex.take("lock")
    }

    /// Wakes the thread that has waited longest, if one waits.
    public func signal() {
        exploredStep("signal")
        waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.give(nil)
    }

    /// Wakes all threads that wait.
    public func broadcast() {
        exploredStep("broadcast")
        for signal in waiting.withLock({ waiting in
            defer { waiting = [] }
            return waiting
        }) { signal.give(nil) }
    }
}
