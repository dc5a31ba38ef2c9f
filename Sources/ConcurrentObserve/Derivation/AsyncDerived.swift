// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// A value that an asynchronous function computes from a property, and computes again after each
/// change of the property.
///
/// ```swift
/// let profile = AsyncDerived(userID) { id in try await client.profile(of: id) }
/// let token = profile.observe { change in show(change.new) }
/// let present = try await profile.result()
/// ```
///
/// Its value is nil while the function runs. Afterwards it is the function's result, or the error
/// that the function threw. A *run* is one call of the function, in a task of its own. A change of
/// the source cancels the present run, sets the value to nil, and starts the next run. All of this
/// happens before the source's own setter returns. If the source is a derived value or a group that
/// another thread is evaluating, the setter may leave this work to that thread. (P25) A run is
/// overtaken when a later change starts another run. The result of an overtaken run is dropped, so
/// a result never replaces the result for a later change. ``last`` keeps the last result of a run
/// that threw no error.
///
/// The type is a property like any other: observe or bind it, wait with `first(where:)`, or read
/// its value in a ``Derived``. To compute from several properties, pass a `Derived` of them:
/// `AsyncDerived(Derived(host, port) { ($0, $1) }) { address in … }`. To leave out changes to an
/// equal value, pass `source.removingDuplicates()`.
///
/// The initialiser starts the first run, whether the value is observed or not. The object retains
/// its source. When the object is released, its run is cancelled, and its observations end with
/// `.sourceDeleted`. (P12) If the source's `cancelAllObservations()` ends its observation, no
/// further run starts, and the value stays as it is.
public final class AsyncDerived<Success: Sendable>: ObservableProperty {
    private let runs: AsyncRuns<Success>
    private let token: ObservationToken
    private let source: any Sendable

    /// Makes a value that `function` computes from `source`, and starts the first run.
    ///
    /// - Parameters:
    ///   - source: The property whose values the function receives.
    ///   - priority: The priority of the runs; nil for the priority of the task that makes the
    ///     change.
    ///   - function: Computes a result. It runs in a task that is cancelled when the source changes
    ///     again; a function that ignores this continues while the next run runs. It sees the
    ///     task-local values of the code that made the change.
    public init<Source: ObservableProperty>(
        _ source: Source,
        priority: TaskPriority? = nil,
        _ function: @escaping @Sendable (Source.Value) async throws -> Success
    ) {
        let runs = AsyncRuns<Success>()
        self.runs = runs
        self.source = source
        // Weak: the observation may be destroyed late, and the results end with this object.
        token = source.observe(options: .initial) { [weak runs] change in
            let input = change.new
            let isFirst = change.reason == .initial
            runs?.start(for: change.version, isFirst: isFirst, priority: priority) { try await function(input) }
        }
    }

    deinit { runs.cancel() }

    /// The result of the run for the source's present value; nil while that run goes on. Any
    /// thread; never waits.
    public var value: Result<Success, any Error>? { runs.state.value.result }

    /// The last result of a run that threw no error; nil before the first such result. Any thread;
    /// never waits.
    public var last: Success? { runs.state.value.last }

    /// The number of changes of ``value`` so far. (P2)
    public var version: UInt64 { runs.state.version }

    /// Returns the present value and its version, which belong together. Any thread; never waits.
    public func snapshot() -> (value: Result<Success, any Error>?, version: UInt64) {
        let (state, version) = runs.state.snapshot()
        return (state.result, version)
    }

    /// Begins an observation of the value: `observer` receives each change. The returned token
    /// keeps the observation going.
    public func attach(_ observer: PropertyObserver<Result<Success, any Error>?>) -> ObservationToken {
        runs.state.attach(observer.pulledBack { change in change.map(\.result) })
    }

    /// A function that attaches an observer. It does not retain this object, and returns nil once
    /// this object is gone.
    public var weakAttachment: @Sendable (PropertyObserver<Result<Success, any Error>?>) -> ObservationToken? {
        let attach = runs.state.weakAttachment
        return { observer in attach(observer.pulledBack { change in change.map(\.result) }) }
    }

    /// Returns the result for the source's present value. Suspends until the result is computed.
    ///
    /// - Throws: The error of the run, or `CancellationError` once the calling task is cancelled.
    public nonisolated(nonsending) func result() async throws -> Success {
        // Never nil: the predicate accepts only a result.
        try await first { $0 != nil }!.get()
    }
}

/// The runs of one `AsyncDerived`, and the state that they publish. The version of the newest run
/// decides which run may publish.
private final class AsyncRuns<Success: Sendable>: @unchecked Sendable {
    struct State: Sendable {
        var result: Result<Success, any Error>?
        var last: Success?
    }

    let state = Observed(State())

    // Unchecked: `lock` guards the variables.
    private let lock = Lock()
    /// The version of the source that the newest run computes from; nil before the first run. The
    /// highest number if no run may begin any more.
    private var newest: UInt64?
    /// The task of the newest run.
    private var task: Task<Void, Never>?

    /// Starts a run for `version` of the source, unless a run for a later version has begun.
    ///
    /// - Parameter isFirst: Whether the initialiser starts the run. If so, this function does not
    ///   change the state, because the initialiser may be called in the body of a `modify` or of a
    ///   commit.
    func start(
        for version: UInt64,
        isFirst: Bool,
        priority: TaskPriority?,
        _ body: @escaping @Sendable () async throws -> Success
    ) {
        var overtaken: Task<Void, Never>?
        do throws(Overtaken) {
            if isFirst {
                _ = try begin(version)
            } else {
                // Under the state's own lock, so that starts and results come in one order.
                overtaken = try state.modify { state throws(Overtaken) in
                    let overtaken = try begin(version)
                    state.result = nil
                    return overtaken
                }
            }
        } catch {
            return
        }
        // Under no lock: a task's cancellation handlers are user code. (P5)
        overtaken?.cancel()
        // An observer of the state may have changed the source, which starts a newer run.
        guard isNewest(version) else { return }
        let task = Task(priority: priority) { [weak self] in
            let result: Result<Success, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            self?.finish(version, result)
        }
        if !keep(task, version) { task.cancel() }
    }

    /// Makes the run for `version` the newest one. Throws `Overtaken` if a newer run has begun, or
    /// if no run may begin any more.
    ///
    /// - Returns: The task of the previous run; nil if there is none. The caller must cancel it,
    ///   and hold no lock then.
    private func begin(_ version: UInt64) throws(Overtaken) -> Task<Void, Never>? {
        try lock.withLock { () throws(Overtaken) -> Task<Void, Never>? in
            if let newer = newest, newer >= version { throw Overtaken() }
            newest = version
            return task.take()
        }
    }

    private func isNewest(_ version: UInt64) -> Bool {
        lock.withLock { newest == version }
    }

    /// Keeps the task of the run for `version`.
    ///
    /// - Returns: False if that run is not the newest any more, or if no run may begin any more.
    private func keep(_ task: Task<Void, Never>, _ version: UInt64) -> Bool {
        lock.withLock {
            guard newest == version else { return false }
            self.task = task
            return true
        }
    }

    /// Publishes the result of the run for `version`, unless that run was overtaken.
    private func finish(_ version: UInt64, _ result: Result<Success, any Error>) {
        try? state.modify { state throws(Overtaken) in
            guard isNewest(version) else { throw Overtaken() }
            state.result = result
            if case .success(let success) = result { state.last = success }
        }
    }

    /// Cancels the present run. No run starts afterwards.
    func cancel() {
        let task = lock.withLock {
            newest = .max
            return self.task.take()
        }
        // Under no lock: a task's cancellation handlers are user code. (P5)
        task?.cancel()
    }
}

/// Thrown if a later change of the source has started another run, or if the object is gone.
private struct Overtaken: Error {}
