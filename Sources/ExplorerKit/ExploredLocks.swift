// SPDX-License-Identifier: Apache-2.0

import StressKit

/// A counting semaphore with the methods of `DispatchSemaphore`, whose operations are steps of an
/// exploration.
///
/// On a thread that no exploration runs, a semaphore of the system.
public final class ExploredSemaphore: @unchecked Sendable {
    // Unchecked: `holder` belongs to the running thread of an exploration.
    private let count: Guarded<Int>
    /// Signalled as often as the count grew: what waits in earnest looks again.
    private let changes = Semaphore()
    private let isLock: Bool
    /// The exploration's thread that has the lock, if it is one.
    private(set) var holder: Character?

    /// - Parameter value: How many threads can take it before one waits.
    public convenience init(value: Int) { self.init(value: value, isLock: false) }

    init(value: Int, isLock: Bool) { (count, self.isLock) = (Guarded(value), isLock) }

    /// Takes one; waits while there is none. One step, and another one if it has waited.
    public func wait() { take("wait") }

    /// Gives one. Never waits. One step.
    public func signal() { give("signal") }

    /// - Parameter name: The step's name; nil if it is none.
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

    /// Traps if the lock is not the calling thread's. On a thread that no exploration runs, nothing
    /// is known.
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

    /// Takes one, if there is one.
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

/// A lock with its value, with the methods of `Synchronization.Mutex`, whose operations are steps
/// of an exploration: one to lock, another one if that waits, one to unlock.
///
/// An object, so that it can be a `let` wherever a mutex can. On a thread that no exploration runs,
/// a lock of the system. The compiler does not check that the value stays inside (`sending`); it
/// checks that where the code is compiled with the real type.
public final class ExploredMutex<Value>: @unchecked Sendable {
    // Unchecked: the value is used by the thread that has taken the lock.
    private let lock = ExploredSemaphore(value: 1, isLock: true)
    private var value: Value

    /// Makes a mutex that guards `initialValue`.
    public init(_ initialValue: consuming sending Value) { value = initialValue }

    /// Calls `body` with the value while no other thread has it. Waits for the lock; a thread that
    /// has it already is a deadlock.
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        lock.take("lock")
        defer { lock.give("unlock") }
        return try body(&value)
    }

    /// As `withLock(_:)`, but returns nil if another thread has the lock. Never waits.
    public func withLockIfAvailable<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        exploredStep("try lock")
        guard lock.takeNow() else { return nil }
        defer { lock.give("unlock") }
        return try body(&value)
    }
}

/// A lock with a condition, with the methods of Foundation's `NSCondition`, whose operations are
/// steps of an exploration.
///
/// A signal wakes the thread that has waited longest. No thread wakes without a signal, which a
/// real condition allows: wait in a loop.
public final class ExploredCondition: Sendable {
    private let mutex = ExploredSemaphore(value: 1, isLock: true)
    private let waiting = Guarded<[ExploredSemaphore]>([])

    /// Makes a condition whose lock is free.
    public init() {}

    /// Waits for the lock.
    public func lock() { mutex.take("lock") }

    /// Gives the lock back. In an exploration a caller without the lock traps.
    public func unlock() {
        mutex.expectHeld("unlock")
        mutex.give("unlock")
    }

    /// Unlocks, waits for a signal, and locks. In an exploration a caller without the lock traps.
    public func wait() {
        mutex.expectHeld("wait")
        exploredStep("wait")
        let signal = ExploredSemaphore(value: 0)
        waiting.withLock { $0.append(signal) }
        mutex.give(nil)
        signal.take("wait for a signal")
        mutex.take("lock")
    }

    /// Wakes one thread that waits, if there is one.
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
