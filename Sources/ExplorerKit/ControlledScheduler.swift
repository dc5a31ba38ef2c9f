// SPDX-License-Identifier: Apache-2.0

import Glibc
import StressKit

/// Runs real threads one at a time: a thread runs until it comes to a step, and there a strategy
/// chooses the thread that runs next.
///
/// Everything that a thread does between two steps happens at once, and every thread sees it: this
/// is sequential consistency. The models check weaker memory. The scheduler knows why each thread
/// waits. If no thread can go on, that is a deadlock.
package final class ControlledScheduler: @unchecked Sendable {
    // Unchecked: everything mutable belongs to the running thread; the semaphores pass the run from
    // thread to thread.

    package private(set) var threads: [ScheduledThread] = []
    /// The threads that have work.
    private var busy = ThreadSet()
    private let driver = Semaphore()
    private let mostSteps: Int
    /// Whether helpers only serve the program's threads.
    private let helpersServe: Bool
    /// The number of threads that belong to the program itself. They have the lowest indices.
    private let programThreads: Int
    private let startThread: (ScheduledThread) -> Void

    private var strategy: (any Strategy)?
    private var run = ScheduledRun()
    /// The number of faults that may still happen in this schedule.
    private var faultsLeft = Int.max
    /// The scheduler's time. It advances only if no thread can go on, or if a short wait runs out
    /// early.
    package private(set) var now: Duration = .seconds(1)
    private var idleWaits = 0

    /// Whether threads are stuck for good, so that the scheduler cannot be used any more.
    package private(set) var isBroken = false
    /// The program whose threads are stuck. It is kept, because these threads still use it.
    var kept: Program.Instance?
    /// Called at the first failure, on the thread that finds it.
    package var onFailure: ((ScheduledRun) -> Void)?
    /// Called at every step with its number.
    package var onStep: ((_ step: Int, Columns.Step) -> Void)?
    /// The schedule so far. It is written if the process crashes.
    package let trail: Trail
    /// Whether a thread's condition is being evaluated: it takes no step.
    private(set) var isChoosing = false

    /// Makes a scheduler and its threads.
    ///
    /// - Parameters:
    ///   - core: The processor core on which all threads run; nil for any. Switching threads is
    ///     five times faster on one core.
    ///   - mostSteps: The largest number of steps. A longer schedule is a livelock.
    ///   - helpersServe: Whether the threads that the program's threads start only serve them. Such
    ///     threads may rest, and when the program's threads have ended, the others finish in one
    ///     fixed order. A thread that has paused may then run again before the others.
    ///   - prepare: Called once on every thread, outside any schedule. If it is nil, threads start
    ///     when they are needed.
    package init(
        onCore core: Int? = nil,
        mostSteps: Int = 20_000,
        helpersServe: Bool = true,
        prepare: (@Sendable () -> Void)? = nil
    ) {
        (self.mostSteps, self.helpersServe) = (mostSteps, helpersServe)
        programThreads = Schedule.programThreads + (helpersServe ? 0 : Schedule.helperThreads)
        trail = Trail(capacity: mostSteps)
        startThread = { $0.start(onCore: core, prepare ?? {}) }
        threads = (0..<Schedule.programThreads + Schedule.helperThreads)
            .map { ScheduledThread(index: $0, scheduler: self) }
        if prepare != nil { for thread in threads { startThread(thread) } }
    }

    /// Ends the threads. Threads that are stuck in a deadlock or a livelock do not end: they and
    /// this object exist until the process ends.
    package func close() {
        for thread in threads where !busy.contains(thread.index) { thread.stop() }
        // Safe: kept on purpose.
        if isBroken { _ = unsafe Unmanaged.passRetained(self) }
    }

    // MARK: The driver's side

    /// Runs each body on a thread of its own. Returns when all threads have ended, or when no
    /// thread can go on.
    ///
    /// - Parameters:
    ///   - bodies: The work of each thread; nil for a thread without work.
    ///   - strategy: Chooses the thread that goes on. If it is nil, every thread runs until it
    ///     cannot go on.
    ///   - mostFaults: The largest number of faults.
    package func run(
        _ bodies: [(name: String, body: () -> Void)?],
        _ strategy: (any Strategy)? = nil,
        mostFaults: Int = .max
    ) -> ScheduledRun {
        precondition(bodies.count <= Schedule.programThreads && !isBroken)
        (self.strategy, faultsLeft) = (strategy, mostFaults)
        run = ScheduledRun()
        idleWaits = 0
        if strategy != nil { trail.clear() }
        for (thread, work) in zip(threads, bodies) {
            guard let work else { continue }
            startThread(thread)
            busy.insert(thread.index)
            (thread.name, thread.work, thread.state, thread.label) = (work.name, work.body, .ready, "begin")
        }
        if let first = next(after: nil) {
            first.permit.signal()
            driver.wait()
        }
        return run
    }

    /// Whether one of the program's threads has not ended.
    private var isProgramRunning: Bool { busy.first.map { $0 < programThreads } ?? false }

    // MARK: A thread's side

    /// Takes a step of the calling thread. Other threads may run before the call returns.
    package func step(_ thread: ScheduledThread, _ label: StaticString) {
        thread.label = label
        handOver(thread)
    }

    /// Returns when `condition` holds, or when the limit has passed. Takes a step only if the
    /// condition does not hold at once.
    package func wait(
        _ thread: ScheduledThread,
        _ label: StaticString,
        atMost limit: Duration? = nil,
        mayRest: Bool = false,
        until condition: () -> Bool
    ) {
        if holds(condition) { return }
        withoutActuallyEscaping(condition) { condition in
            thread.label = label
            thread.state = mayRest ? .parked : .waiting
            thread.condition = condition
            thread.deadline = limit.map { now + $0 }
            thread.mayDoze = limit.map { $0 < .milliseconds(100) } ?? false
            handOver(thread)
            (thread.state, thread.condition, thread.deadline) = (.ready, nil, nil)
        }
    }

    /// Evaluates a thread's condition. While it runs, the façade's operations take no steps.
    func holds(_ condition: () -> Bool) -> Bool {
        isChoosing = true
        defer { isChoosing = false }
        return condition()
    }

    /// Returns when another thread has taken a step.
    package func pause(_ thread: ScheduledThread) {
        thread.label = "pause"
        thread.state = .paused
        thread.pausedAt = run.schedule.steps.count
        thread.deadline = now + .microseconds(50)
        thread.mayDoze = false
        handOver(thread)
        (thread.state, thread.deadline) = (.ready, nil)
    }

    /// Runs `body` on a thread that has no work. Returns false if there is none.
    package func start(_ name: String, _ body: @escaping () -> Void) -> Bool {
        guard let thread = threads[Schedule.programThreads...].first(where: { !busy.contains($0.index) }) else {
            return false
        }
        startThread(thread)
        busy.insert(thread.index)
        (thread.name, thread.work, thread.state, thread.label) = (name, body, .ready, "begin")
        return true
    }

    /// Ends the work of the calling thread, and lets the next thread run.
    package func end(_ thread: ScheduledThread) {
        busy.remove(thread.index)
        guard let next = next(after: thread) else { return driver.signal() }
        next.permit.signal()
    }

    /// Returns whether `fault` happens here, as the strategy decides. In a schedule, the call takes
    /// one step in either case.
    package func goesWrong(_ thread: ScheduledThread, _ fault: Fault) -> Bool {
        let length = run.schedule.steps.count
        guard let strategy, run.failure == nil, isProgramRunning, length < mostSteps, faultsLeft > 0 else {
            return false
        }
        let decision = Decision(
            holder: thread.index,
            ready: ThreadSet([thread.index]),
            due: ThreadSet([thread.index]),
            dozing: ThreadSet(),
            faults: ThreadSet([fault.index]),
            step: length
        )
        let chosen = strategy.choose(decision)
        run.preemptions += decision.cost(of: chosen)
        guard chosen == fault.index else {
            thread.label = "all goes well"
            _ = take(thread)
            return false
        }
        faultsLeft -= 1
        note(fault.index, "fault", fault.label)
        return true
    }

    private func handOver(_ thread: ScheduledThread) {
        guard let next = next(after: thread) else {
            driver.signal()
            return thread.permit.wait()
        }
        if next === thread { return }
        next.permit.signal()
        thread.permit.wait()
    }

    // MARK: Which thread is next

    private func next(after holder: ScheduledThread?) -> ScheduledThread? {
        let length = run.schedule.steps.count
        guard length < mostSteps else {
            return stop("progress.livelock", "\(mostSteps) steps, and no end: \(waits)")
        }
        var (ready, due, dozing) = (ThreadSet(), ThreadSet(), ThreadSet())
        var longestPaused: ScheduledThread?
        for index in busy {
            let thread = threads[index]
            if thread.isReady(at: length) {
                ready.insert(index)
                if thread.state != .paused {
                    due.insert(index)
                } else if longestPaused.map({ thread.pausedAt < $0.pausedAt }) ?? true {
                    longestPaused = thread
                }
            } else if thread.mayDoze, thread.deadline != nil {
                dozing.insert(index)
            }
        }
        guard !ready.isEmpty else { return passTime() }
        if helpersServe { due = ready } else if due.isEmpty { due.insert(longestPaused!.index) }
        let decision = Decision(
            holder: holder.flatMap { ready.contains($0.index) ? $0.index : nil },
            ready: ready,
            due: due,
            dozing: dozing,
            step: length
        )
        var chosen = decision.usual
        // When the program has ended, its threads are not chosen any more.
        if let strategy, run.failure == nil, isProgramRunning, decision.options.count > 1 {
            chosen = strategy.choose(decision)
            run.preemptions += decision.cost(of: chosen)
        }
        return take(threads[chosen])
    }

    /// Advances the time to the end of the wait that ends first, because no thread can go on.
    /// Returns the thread that waited; nil if the run is over or stuck.
    private func passTime() -> ScheduledThread? {
        let waiting = busy.map { threads[$0] }.filter { $0.deadline != nil }
        idleWaits += 1
        // The limit on waits in a row: a thread that waits again and again while nothing changes
        // finds nothing changed.
        if idleWaits < 64, let first = waiting.min(by: { $0.deadline! < $1.deadline! }) {
            now = max(now, first.deadline!)
            return take(first)
        }
        // Only the library's threads may rest.
        let isStuck = busy.contains { threads[$0].state != .parked || $0 < programThreads }
        return isStuck ? stop("progress.deadlock", waits) : nil
    }

    private func take(_ thread: ScheduledThread) -> ScheduledThread {
        if let deadline = thread.deadline, thread.mayDoze, !thread.isReady(at: run.schedule.steps.count) {
            now = max(now, deadline)
        }
        if thread.index < programThreads { idleWaits = 0 }
        note(thread.index, thread.name, thread.label)
        return thread
    }

    private func note(_ index: Int, _ name: String, _ label: StaticString) {
        run.note(index, label)
        if strategy != nil { trail.note(index, run.preemptions) }
        onStep?(run.schedule.steps.count - 1, Columns.Step(thread: index, name: name, label: label.description))
    }

    /// Describes what every thread waits for.
    private var waits: String {
        busy.map { threads[$0] }
            .map {
                let holder = $0.waitsFor?.holder.map { " that \($0) has" } ?? ""
                return "\($0.letter) (\($0.name)) "
                    + "\($0.state == .ready ? "can go on with" : "waits for") '\($0.label)'\(holder)"
            }
            .joined(separator: ", ")
    }

    private func stop(_ invariant: String, _ message: String) -> ScheduledThread? {
        isBroken = true
        fail(invariant, message)
        return nil
    }

    /// Records that an invariant does not hold. A run keeps only its first failure.
    package func fail(_ invariant: String, _ message: String) {
        guard run.failure == nil else { return }
        run.failure = ScheduledRun.Failure(invariant: invariant, message: message, length: run.schedule.steps.count)
        onFailure?(run)
    }
}

/// One run of a program: its schedule and its result.
package struct ScheduledRun {
    package struct Failure: Equatable {
        package let invariant: String
        package let message: String
        /// The number of steps that were taken before the failure.
        package let length: Int
    }

    package fileprivate(set) var schedule = Schedule([])
    package fileprivate(set) var preemptions = 0
    package fileprivate(set) var failure: Failure?
    /// A hash of the steps and their threads. It is equal for two runs that took the same steps.
    package private(set) var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325
    /// The name of each step.
    package private(set) var labels: [StaticString] = []

    /// The part of the schedule up to the failure.
    package var failingSchedule: Schedule {
        Schedule(Array(schedule.steps.prefix(failure?.length ?? schedule.steps.count)))
    }

    fileprivate mutating func note(_ thread: Int, _ label: StaticString) {
        schedule.steps.append(thread)
        labels.append(label)
        // Safe: the address of a literal, compared with itself within one process.
        let label = UInt64(UInt(bitPattern: unsafe label.utf8Start))
        fingerprint = (fingerprint ^ label ^ UInt64(thread) << 56) &* 0x100_0000_01B3
    }
}

/// A fault that can happen where a program allows it. The strategy chooses it, as it chooses the
/// thread that goes on. A fault costs as much as a preemption.
///
/// A schedule has the fault's letter in the place of a thread's. The fault happens to the thread
/// before it.
package struct Fault: Sendable {
    package let index: Int
    package let label: StaticString

    /// Makes a fault.
    ///
    /// - Parameter letter: The fault's letter in schedules: x, y or z.
    package init(_ letter: Character, _ label: StaticString) {
        (index, self.label) = (Schedule.letters.firstIndex(of: letter)!, label)
    }
}
