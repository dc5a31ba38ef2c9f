// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// A property that an asynchronous function keeps up to date, but only while it is observed: for
/// example by a poll, or by a subscription or a connection that is too expensive to keep otherwise.
///
/// ```swift
/// let price = WhileObserved(0.0, grace: .seconds(5)) { price in
///     for await quote in exchange.quotes() { price.value = quote.price }
/// }
/// let token = price.observe { change in print(change.new) }
/// ```
///
/// A *run* is one call of the function, in a task of its own. The first observer starts a run, and
/// receives every change that the run makes. The run's task is cancelled when the last observation
/// has ended, its last callback has returned, and no other has begun within the grace time. The
/// next run starts only after the last one has returned, so there is never more than one. If the
/// function returns while the property is observed, it is called again only after the property was
/// unobserved for the grace time.
///
/// Every form of observing counts: closures, sequences, `first(where:)`, bindings, groups, and
/// derived values that are observed. Reading the value starts no run, and returns the value that
/// the last run has left.
///
/// When this object is released, its run is cancelled. Its observations end with `.sourceDeleted`
/// once the run has returned. (P12)
public final class WhileObserved<Value: Sendable>: ObservableProperty {
    private let property: Observed<Value>
    private let runs: Runs

    /// Makes a property without observers.
    ///
    /// - Parameters:
    ///   - value: The value before the first run has set one.
    ///   - grace: The time for which a run goes on without an observer. Traps if it is negative.
    ///   - clock: Measures the grace time. If its `sleep` throws, the grace time is over.
    ///   - priority: The priority of the runs.
    ///   - run: Sets the property that it receives, until its task is cancelled. Called under no
    ///     lock, with no task-local values of an observer.
    public init(
        _ value: Value,
        grace: Duration = .zero,
        clock: some Clock<Duration> = ContinuousClock(),
        priority: TaskPriority? = nil,
        _ run: @escaping @Sendable (Observed<Value>) async -> Void
    ) {
        precondition(grace >= .zero, "ConcurrentObserve: a grace time of \(grace) is over already. Use .zero or more.")
        let property = Observed(value)
        self.property = property
        runs = Runs(
            priority: priority,
            run: { await run(property) },
            grace: {
                let end = clock.now.advanced(by: grace)
                return GraceTime(isOver: { clock.now >= end }) {
                    if grace > .zero { try? await clock.sleep(until: end, tolerance: nil) }
                }
            }
        )
    }

    deinit { runs.end() }

    /// The value that a run has set last, or else the initial value. Any thread; never waits, and
    /// starts no run.
    public var value: Value { property.value }

    /// The number of changes so far. (P2)
    public var version: UInt64 { property.version }

    /// Returns the present value and its version, which belong together. Any thread; never waits.
    public func snapshot() -> (value: Value, version: UInt64) { property.snapshot() }

    /// Begins an observation: `observer` receives each change. Starts a run if there is none. The
    /// returned token keeps the observation going.
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        let token = property.attach(observer)
        // After the observer is attached, so that it receives every change that the run makes.
        runs.addObserver()
        // Weak: the runs retain the property, which would retain the observation.
        return token.onEnd { [weak runs] _ in runs?.removeObserver() }
    }

    /// A function that attaches an observer. It does not retain this object, and returns nil once
    /// this object is gone.
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        { [weak self] observer in self?.attach(observer) }
    }
}

/// The grace time that begins when the last observer has gone.
private struct GraceTime: Sendable {
    let isOver: @Sendable () -> Bool
    let wait: @Sendable () async -> Void
}

/// Starts the runs of one `WhileObserved`, and cancels them.
private final class Runs: @unchecked Sendable {
    // Unchecked: `lock` guards the variables.
    private let lock = Lock()
    private var observers = 0
    /// The number of times that the last observer has gone.
    private var departures = 0
    /// Whether the grace time was over when an observer came, and the present run is the one before
    /// that: it must end, and the next one must begin.
    private var isOverdue = false
    /// The task that makes the runs, one after the other. Nil if the property is not observed, and
    /// the last run has returned.
    private var task: Task<Void, Never>?
    /// The continuation to resume when the last observer has gone; nil if the task does not wait
    /// for that.
    private var waiter: CheckedContinuation<Void, Never>?
    private var hasEnded = false

    private let priority: TaskPriority?
    private let run: @Sendable () async -> Void
    /// Begins the grace time.
    private let grace: @Sendable () -> GraceTime
    /// The last grace time that has begun; nil before the first one.
    private var lastGrace: GraceTime?

    init(
        priority: TaskPriority?,
        run: @escaping @Sendable () async -> Void,
        grace: @escaping @Sendable () -> GraceTime
    ) {
        (self.priority, self.run, self.grace) = (priority, run, grace)
    }

    func addObserver() {
        // Under no lock: the clock is the user's. (P5) The task of the runs may wake much later
        // than the grace time ends.
        let (departure, grace) = lastDeparture()
        let isLate = grace?.isOver() ?? false
        lock.withLock {
            if isLate, task != nil, observers == 0, departures == departure { isOverdue = true }
            observers += 1
            if task == nil, !hasEnded { task = Task.detached(priority: priority) { await self.makeRuns() } }
        }
    }

    func removeObserver() {
        // Under no lock: the clock is the user's. (P5)
        let grace = grace()
        // The replaced one is released after the lock: it has an instant of the user's clock.
        var replaced: GraceTime? = grace
        let waiter = lock.withLock { () -> CheckedContinuation<Void, Never>? in
            observers -= 1
            guard observers == 0 else { return nil }
            departures += 1
            swap(&lastGrace, &replaced)
            return self.waiter.take()
        }
        waiter?.resume()
    }

    // The functions that take the lock are apart and not inlined: in an asynchronous function that
    // waits for a continuation, the optimiser of Swift 6.3.1 loses the code behind the wait.

    private func makeRuns() async {
        repeat {
            await withTaskGroup { group in
                group.addTask { await self.run() }
                await unobserved()
                group.cancelAll()
            }
        } while !isOver()
    }

    /// Returns when there has been no observer for the grace time, or the object is gone.
    private func unobserved() async {
        while true {
            await withCheckedContinuation { continuation in
                if !keep(continuation) { continuation.resume() }
            }
            let (departure, grace) = lastDeparture()
            await grace?.wait()
            if isUnobserved(since: departure) { return }
        }
    }

    /// Keeps a continuation until the last observer has gone. If there is no observer, the run is
    /// overdue, or the object is gone, returns false and does not keep the continuation.
    @inline(never)
    private func keep(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        lock.withLock {
            guard observers > 0, !isOverdue, !hasEnded else { return false }
            waiter = continuation
            return true
        }
    }

    /// Returns how often the last observer has gone, and the grace time since; nil if the run is
    /// overdue, or no observer has gone yet.
    @inline(never)
    private func lastDeparture() -> (Int, GraceTime?) {
        lock.withLock { (departures, isOverdue ? nil : lastGrace) }
    }

    @inline(never)
    private func isUnobserved(since departure: Int) -> Bool {
        lock.withLock { hasEnded || isOverdue || (observers == 0 && departures == departure) }
    }

    /// Called after a run. Returns whether no other run is needed. If so, the next observer starts
    /// a task.
    @inline(never)
    private func isOver() -> Bool {
        lock.withLock {
            isOverdue = false
            guard observers == 0 || hasEnded else { return false }
            task = nil
            return true
        }
    }

    /// Cancels the present run. No run starts afterwards.
    func end() {
        let (waiter, task) = lock.withLock {
            hasEnded = true
            return (self.waiter.take(), self.task)
        }
        // Under no lock: a task's cancellation handlers are user code. (P5)
        waiter?.resume()
        task?.cancel()
    }
}
