// SPDX-License-Identifier: Apache-2.0

import Glibc
import StressKit

/// A step of the calling thread: other threads may run before it goes on.
///
/// Everything between two steps happens at once. Code that reads and writes memory which other
/// threads use takes a step before each access. On a thread that no exploration runs, does nothing.
public func exploredStep(_ name: StaticString) {
    guard let thread = ScheduledThread.controlled else { return }
    thread.scheduler.step(thread, name)
}

/// Waits, as one step, until `condition` holds.
///
/// The condition is evaluated on any thread, while no other thread runs. It may read what the
/// façade's types hold, but take no lock. On a thread that no exploration runs, the caller yields
/// the processor until the condition holds.
public func exploredWait(_ name: StaticString, until condition: () -> Bool) {
    guard let thread = ScheduledThread.controlled else {
        while !condition() { sched_yield() }
        return
    }
    thread.scheduler.step(thread, name)
    thread.scheduler.wait(thread, name, until: condition)
}

/// Lets other threads run. Call it in the body of a loop that waits.
///
/// The thread goes on when another one has taken a step, and after all others could take one. A
/// loop that waits without a pause makes the search reach its limit of steps.
public func exploredPause() {
    guard let thread = ScheduledThread.controlled else {
        sched_yield()
        return
    }
    thread.scheduler.pause(thread)
}

/// A thread of an explored program that another of its threads starts.
///
/// At most six run at a time. On a thread that no exploration runs, it is a thread of the system.
public final class ExploredThread: Sendable {
    private let end = ExploredSemaphore(value: 0)
    private let real = Guarded<JoinableThread?>(nil)

    private init() {}

    /// Starts a thread that runs `body`, as one step.
    ///
    /// - Parameters:
    ///   - name: The title of its column in a failure.
    ///   - body: Runs on the thread.
    public static func start(_ name: String = "thread", _ body: @escaping @Sendable () -> Void) -> ExploredThread {
        let thread = ExploredThread()
        let run: @Sendable () -> Void = {
            body()
            thread.end.give(nil)
        }
        if let caller = ScheduledThread.controlled {
            caller.scheduler.step(caller, "start")
            precondition(caller.scheduler.start(name, run), "at most six threads that others start run at a time")
        } else {
            thread.real.withLock { $0 = JoinableThread(run) }
        }
        return thread
    }

    /// Waits, as one step, until the thread has ended. Every thread must be joined at least once.
    public func join() {
        end.take("join")
        end.give(nil)
        real.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
