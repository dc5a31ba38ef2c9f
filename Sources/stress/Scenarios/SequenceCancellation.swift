// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

extension Scenario {
    /// Tasks iterate while changes come. Tasks are cancelled, iterators are released, or the source
    /// dies.
    static let sequenceCancellation = Scenario(
        name: "sequence-cancellation",
        summary:
            "tasks iterate over changes; they are cancelled, drop their iterator, or their source dies: each finishes once",
        invariants: [
            "P1.ordered-once", "P1.counts-add-up", "P1.nothing-lost-before-the-end", "P2.one-at-a-time", "P2.ordered",
            "P2.ordered-chain", "P2.stays-on-its-actor", "P4.initial-first", "P5.no-lock-around-user-code",
            "P5.deferred-in-deinit", "P5.not-by-the-canceller", "P8.cancelled-task-goes-on",
            "P8.iterator-leaves-nothing", "P8.removed-iterator-is-silent", "P12.finishes-once",
            "P12.finishes-at-the-end",
        ] + checkedAtRest,
        windows: [
            "cancelled while it waited", "cancelled with changes left", "dropped its iterator with changes left",
            "the source died while a task waited", "the source died before a task had received all",
        ]
    ) { round in
        let property = Observed<UInt64>(0)
        let ends = (1...2).map { PathEnd(UInt64($0)) }
        let root = PathRoot(ends[0])
        let stage = Stage()
        checkResumption(round, on: stage)

        round.load { worker in
            switch worker.generator.below(5) {
            case 0:
                worker.begin("make iterators and let them go")
                for _ in 0..<8 { _ = property.changes(options: worker.options()).makeAsyncIterator() }
            case 1:
                worker.begin("a source dies")
                worker.sourceDies(on: stage)
            case 2:
                worker.begin("cancel tasks that iterate over a path")
                worker.cancelTasks(on: stage) {
                    root.property(\.middle.end.number).changes(options: $0, buffering: $1)
                } setting: {
                    [serial = worker.uniqueSerial()] step in
                    if step & 3 == 0 { root.middle.value.end.value = ends[step >> 2 & 1] }
                    ends[step & 1].number.value = serial << 8 | UInt64(step)
                }
            case 3:
                worker.begin("remove what iterators have left")
                worker.removeWhatIsLeft()
            default:
                worker.begin("cancel tasks")
                worker.cancelTasks(on: stage) {
                    property.changes(options: $0, buffering: $1)
                } setting: {
                    [serial = worker.uniqueSerial()] step in
                    property.value = serial << 8 | UInt64(step)
                }
            }
        }

        round.wait(for: "P8.iterator-leaves-nothing", "\(property.observationCount) iterators are still served") {
            property.observationCount == 0
        }
        checkCancellationBesideRest(round)
        checkDestructionOfRest(round)
        checkStayingOnActor(round)
        round.checkRest()
    }
}

// MARK: - Rounds

extension Worker {
    fileprivate func options() -> ObservationOptions { generator.oneIn(2) ? .initial : [] }

    /// Starts tasks that iterate over sources which other threads also change, and cancels the
    /// tasks.
    fileprivate func cancelTasks<Value: Distinct>(
        on stage: Stage,
        _ sequence: (ObservationOptions, Buffering) -> ObservationSequence<Change<Value>>,
        setting set: (Int) -> Void
    ) {
        let policies: [Buffering] = [.unbounded, .unbounded, .latest, .droppingOldest(4)]
        let consumers = (0..<4).map { _ in
            let (options, buffering) = (options(), policies[generator.below(policies.count)])
            // One in four releases its iterator before it is cancelled.
            let limit = generator.oneIn(4) ? UInt64(generator.below(4)) : .max
            let consumer = Consumer(round, options, buffering, limit: limit)
            return (consumer, consumer.start(sequence(options, buffering), on: generator.oneIn(2) ? stage : nil))
        }
        var step = 0
        for (consumer, iteration) in consumers {
            if !generator.oneIn(4) { consumer.isReady.wait() }
            for _ in 0..<generator.below(8) {
                set(step)
                step += 1
            }
            if generator.oneIn(4) { sched_yield() }
            if consumer.isWaiting.load(ordering: .relaxed) { hit(0) }
            iteration.task.cancel()
        }
        for (consumer, iteration) in consumers {
            guard waitForEnd(of: consumer, iteration, "P8.cancelled-task-goes-on") else { return }
            if consumer.leftBehind { hit(consumer.limit == .max ? 1 : 2) }
        }
    }

    /// Makes a property that no other thread uses. Checks that its observers receive all its
    /// changes and its end, and nothing more.
    fileprivate func sourceDies(on stage: Stage) {
        var property: Observed<UInt64>? = Observed(0)
        weak let source = property
        let changes = UInt64(generator.below(16))
        let consumers = [Buffering.unbounded, .unbounded, .latest].map { buffering in
            let options = options()
            let consumer = Consumer(round, options, buffering) { source == nil }
            let sequence = property!.changes(options: options, buffering: buffering)
            let iteration = consumer.start(sequence, on: generator.oneIn(2) ? stage : nil)
            return (consumer, iteration, changes + (options.contains(.initial) ? 1 : 0))
        }
        for (consumer, _, _) in consumers { consumer.isReady.wait() }
        for number in 0..<changes { property!.value = number + 1 }
        if generator.oneIn(2) { sched_yield() }
        if consumers[0].0.isWaiting.load(ordering: .relaxed) { hit(3) }
        if consumers[0].0.witness.count < changes { hit(4) }
        property = nil
        for (consumer, iteration, expected) in consumers {
            guard waitForEnd(of: consumer, iteration, "P12.finishes-at-the-end") else { return }
            let count = consumer.witness.count
            check(
                count == expected || consumer.witness.mayLeaveOut || !round.violations.isEmpty,
                "P1.nothing-lost-before-the-end",
                "an iterator returned \(count) of \(expected) elements"
            )
        }
    }

    /// Checks that an iterator returns none of its remaining changes after all observations are
    /// removed. (P8)
    fileprivate func removeWhatIsLeft() {
        let count = UInt64(generator.below(8) + 1)
        let task = AwaitedTask(on: WatchedExecutor.shared) { () -> UInt64? in
            let property = Observed<UInt64>(0)
            var iterator = property.values().makeAsyncIterator()
            for number in 1...count { property.value = number }
            property.cancelAllObservations()
            return await iterator.next()
        }
        let found = task.resultInTime()
        check(found != nil, "P8.cancelled-task-goes-on", "a task has waited for its iterator for ten seconds")
        let next = found ?? nil
        check(next == nil, "P8.removed-iterator-is-silent", "an iterator returned \(next ?? 0) after its removal")
    }

    /// Waits for the end of a consumer.
    ///
    /// - Returns: Whether it has ended in time.
    private func waitForEnd(of consumer: Consumer, _ iteration: AwaitedTask<Void>, _ invariant: StaticString) -> Bool {
        let hasEnded = iteration.resultInTime() != nil
        check(hasEnded, invariant, "a task has waited for its iterator for ten seconds")
        checks &+= consumer.witness.checks
        return hasEnded
    }
}

/// A task that iterates, and the checks of what it receives.
private final class Consumer: Sendable {
    let witness: OrderedWitness
    let limit: UInt64
    /// Signalled when the iterator is made.
    let isReady = DispatchSemaphore(value: 0)
    /// Whether the task is about to wait. It is only a hint.
    let isWaiting = Atomic<Bool>(false)
    private let hasLeftChanges = Atomic<Bool>(false)
    private let round: Round
    /// Returns whether the source of the iteration is gone.
    private let isSourceGone: @Sendable () -> Bool

    /// Makes a consumer.
    ///
    /// - Parameter limit: The number of elements that it takes before it releases its iterator.
    init(
        _ round: Round,
        _ options: ObservationOptions,
        _ buffering: Buffering,
        limit: UInt64 = .max,
        isSourceGone: @escaping @Sendable () -> Bool = { false }
    ) {
        (self.round, self.limit, self.isSourceGone) = (round, limit, isSourceGone)
        let name = "an iterator, \(buffering)"
        witness = OrderedWitness(name, round, buffering, beginsWithInitial: options.contains(.initial))
    }

    /// Whether there were changes at its end that it had not received.
    var leftBehind: Bool { hasLeftChanges.load(ordering: .relaxed) }

    func start<Value: Distinct>(_ sequence: ObservationSequence<Change<Value>>, on stage: Stage?) -> AwaitedTask<Void> {
        AwaitedTask(on: WatchedExecutor.shared) { await self.run(sequence, isolation: stage) }
    }

    private func run<Value: Distinct>(
        _ sequence: ObservationSequence<Change<Value>>,
        isolation: isolated (any Actor)?
    ) async {
        var iterator = sequence.makeAsyncIterator()
        isReady.signal()
        while witness.count < limit, round.violations.isEmpty {
            isWaiting.store(true, ordering: .relaxed)
            let change = await iterator.next(isolation: isolation)
            isWaiting.store(false, ordering: .relaxed)
            guard let change else { return await finish(&iterator, isolation: isolation) }
            witness.receive(change)
            if change.version & 3 == 0 { await Task.yield() }
        }
        if iterator.deliveryCounts.pending > 0 { hasLeftChanges.store(true, ordering: .relaxed) }
    }

    /// Checks, after the iterator has returned nil, that it does so again, and that every event
    /// that was sent is counted. (P1, P12)
    private func finish<Value: Distinct>(
        _ iterator: inout ObservationSequence<Change<Value>>.AsyncIterator,
        isolation: isolated (any Actor)?
    ) async {
        let mayFinish = Task.isCancelled || isSourceGone()
        witness.check(mayFinish, "P12.finishes-at-the-end", "finished, not cancelled, and its source is there")
        for _ in 0..<2 {
            let again = await iterator.next(isolation: isolation)
            witness.check(again == nil, "P12.finishes-once", "returned version \(again?.version ?? 0) after nil")
        }
        let counts = iterator.deliveryCounts
        if counts.dropped > 0 { hasLeftChanges.store(true, ordering: .relaxed) }
        let isComplete = counts.pending == 0 && counts.received == witness.count
        witness.check(isComplete, "P1.counts-add-up", "\(counts), returned \(witness.count)")
    }
}

// MARK: - Which thread resumes a task

/// Checks that the thread that makes a change holds no lock when it resumes a waiting task and
/// calls the task's executor. (P5)
private func checkResumption(_ round: Round, on stage: Stage) {
    let property = Observed<UInt64>(0)
    let consumer = Consumer(round, [], .unbounded, limit: 3)
    let iteration = consumer.start(property.changes(), on: stage)
    consumer.isReady.wait()
    for number in 1...3 as ClosedRange<UInt64> {
        _ = waitWhileMoving { consumer.isWaiting.load(ordering: .relaxed) && consumer.witness.count == number - 1 }
        // The task has announced that it is about to wait.
        usleep(1_000)
        property.value = number
    }
    let hasEnded = iteration.resultInTime() != nil
    round.check(hasEnded, "P12.finishes-at-the-end", "a task waits for the third of three changes")
}

// MARK: - What is left in an iterator

/// Checks that values which an iterator has not returned are destroyed by the library when the
/// iterator goes. Waiting is deferred there. (P5)
private func checkDestructionOfRest(_ round: Round) {
    guard round.violations.isEmpty else { return }
    let property = Observed(TrackedValue(serial: 0))
    let other = Observed(0)
    let outcomes = Record<WaitOutcome>()
    var iterator: ObservationSequence<TrackedValue>.AsyncIterator? = property.values().makeAsyncIterator()
    property.value = TrackedValue(serial: 1) {
        let token = other.observe { _ in }
        outcomes.note(token.cancelAndWaitBlocking())
    }
    property.value = TrackedValue(serial: 2)
    // Afterwards only the iterator has the value.
    round.drain()
    withExtendedLifetime(iterator) {}
    iterator = nil
    round.drain()
    round.check("the list of waits in the deinit", outcomes.all, is: [.deferred], "P5.deferred-in-deinit")
}

/// Checks that the thread that cancels a task does not destroy the values that its iterator has
/// left: the deinit of a value may wait for this thread. (P5)
private func checkCancellationBesideRest(_ round: Round) {
    guard round.violations.isEmpty else { return }
    let stage = Stage()
    let property = Observed(TrackedValue(serial: 0))
    let (ready, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let wasInTime = Guarded<Bool?>(nil)
    let iteration = AwaitedTask { await stage.takeOne(from: property.values(), ready) }
    ready.wait()
    // The task's job has announced that the task is about to wait, and ends when it waits.
    stage.executor.pause {
        // The first change resumes the task, which does not run yet. When the third change comes,
        // only the iterator has the second value.
        property.value = TrackedValue(serial: 1)
        property.value = TrackedValue(serial: 2) {
            let isInTime = cancelled.wait(timeout: .now() + 2) == .success
            wasInTime.withLock { $0 = isInTime }
        }
        property.value = TrackedValue(serial: 3)
        round.drain()
        iteration.task.cancel()
        cancelled.signal()
    }
    iteration.result()
    _ = waitWhileMoving { wasInTime.withLock { $0 } != nil }
    let isInTime = wasInTime.withLock { $0 } == true
    round.check(isInTime, "P5.not-by-the-canceller", "a task's canceller has destroyed what its iterator had left")
}

extension Stage {
    fileprivate func takeOne(from values: ObservationSequence<TrackedValue>, _ ready: DispatchSemaphore) async {
        var iterator = values.makeAsyncIterator()
        ready.signal()
        _ = await iterator.next(isolation: self)
    }
}

// MARK: - Where an iterator returns

/// Checks that an iterator with a remaining element returns it without leaving the actor that asks
/// for it.
private func checkStayingOnActor(_ round: Round) {
    guard round.violations.isEmpty else { return }
    let found = AwaitedTask { await Stage().jobsWhileIterating() }.result()
    let stays = found.allSatisfy { $0 == found[0] }
    round.check(stays, "P2.stays-on-its-actor", "the actor was given \(found) jobs while an iterator returned")
}

extension Stage {
    /// Returns the number of jobs that the actor was given before each of three elements, and after
    /// the last one.
    fileprivate func jobsWhileIterating() async -> [Int] {
        let property = Observed(0)
        var iterator = property.values().makeAsyncIterator()
        for number in 1...3 { property.value = number }
        var jobs = [executor.jobs]
        for _ in 0..<3 {
            _ = await iterator.next(isolation: self)
            jobs.append(executor.jobs)
        }
        return jobs
    }
}
