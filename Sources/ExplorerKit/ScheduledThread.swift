// SPDX-License-Identifier: Apache-2.0

import Glibc
import StressKit

/// A real thread that runs only while the scheduler lets it.
package final class ScheduledThread: @unchecked Sendable {
    // Unchecked: used by the running thread, and by the driver while no thread runs.

    package enum State {
        /// Can go on.
        case ready
        /// Waits for a condition, or for a limit to pass.
        case waiting
        /// Waits for a condition that may never come true: a rest, not a deadlock.
        case parked
        /// Waits for another thread's step.
        case paused
    }

    package let index: Int
    package unowned let scheduler: ControlledScheduler
    package let permit = Semaphore()

    /// The state of the thread while it has work.
    package var state = State.ready
    /// The thread's next step.
    package var label: StaticString = ""
    /// The name of the thread's work, for people.
    package var name = ""
    package var work: (() -> Void)?
    package var condition: (() -> Bool)?
    /// The time on the scheduler's clock at which the thread's wait ends; nil if it has no limit.
    package var deadline: Duration?
    /// Whether the wait is short enough to run out while other threads can go on.
    package var mayDoze = false
    /// The length of the schedule when the thread paused.
    package var pausedAt = 0
    /// The façade's lock that it waits for.
    var waitsFor: ExploredSemaphore?

    /// The number of read sections that the thread is inside. `readSections` is the number that it
    /// has left.
    package var readDepth = 0
    package var readSections = 0

    package init(index: Int, scheduler: ControlledScheduler) {
        self.index = index
        self.scheduler = scheduler
    }

    package var letter: Character { Schedule.letter(of: index) }

    /// Whether the thread can take the next step of a schedule that is `length` steps long.
    package func isReady(at length: Int) -> Bool {
        switch state {
        case .ready: true
        case .waiting, .parked: scheduler.holds(condition!)
        case .paused: length > pausedAt
        }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { harnessFailure("no thread-specific key is left") }
        return key
    }()

    /// The calling thread, if a controlled scheduler runs it.
    package static var current: ScheduledThread? {
        // Safe: the thread itself keeps this object.
        guard let thread = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<ScheduledThread>.fromOpaque(thread)._withUnsafeGuaranteedRef { $0 }
    }

    /// The calling thread, if it takes steps now.
    static var controlled: ScheduledThread? {
        guard let thread = current, !thread.scheduler.isChoosing else { return nil }
        return thread
    }

    private var thread: JoinableThread?

    /// Starts the thread of this object. The thread then waits until it is chosen. Called once.
    package func start(onCore core: Int?, _ prepare: @escaping @Sendable () -> Void) {
        guard thread == nil else { return }
        let isPrepared = Semaphore()
        thread = JoinableThread { [self] in
            // Safe: as in current.
            unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
            scheduler.trail.adopt()
            if let core { JoinableThread.bind(toCore: core) }
            prepare()
            isPrepared.signal()
            while true {
                permit.wait()
                if work == nil { return }
                work!()
                // Before another thread runs, because the destruction of the captures may take
                // steps.
                work = nil
                scheduler.end(self)
            }
        }
        isPrepared.wait()
    }

    /// Ends the thread. It must have no work.
    func stop() {
        permit.signal()
        thread?.join()
    }
}
