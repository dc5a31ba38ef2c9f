// SPDX-License-Identifier: Apache-2.0

import CReference
import Glibc
import Judging
import Synchronization

/// Measures the cost of an operation on each of several threads at once, in nanoseconds. `bodies`
/// has one body for each thread.
///
/// All threads begin together, when the last one has arrived at the start. The first thread that
/// has done `times` operations ends the run for all. Threads that contend for a lock progress at
/// different speeds, and the time in which only one of them runs does not count. The result is the
/// time of all threads, divided by their operations in this time. On a busy machine the threads may
/// run one after the other, and share nothing. Such a run is repeated a limited number of times,
/// and marked as disturbed if that did not help. A short run is the least likely to be disturbed: a
/// few milliseconds are enough.
func nanosecondsPerOperation(_ times: Int, _ bodies: [@Sendable (_ times: Int) -> Void]) -> Sample {
    .undisturbed { Sample(of: runTogether(times, bodies)) }
}

/// Measures the cost of an operation while another thread does other work without a pause. Measures
/// like `nanosecondsPerOperation(_:_:)`.
func nanosecondsPerOperation(
    _ times: Int,
    _ body: @escaping @Sendable (_ times: Int) -> Void,
    beside other: @escaping @Sendable (_ times: Int) -> Void
) -> Sample {
    .undisturbed { Sample(ofFirst: runTogether(times, [body], beside: [other])) }
}

/// Runs threads that begin together, until the first one has done `times` operations. Returns the
/// work of each. The threads in `others` do not end the run.
func runTogether(
    _ times: Int,
    _ bodies: [@Sendable (_ times: Int) -> Void],
    beside others: [@Sendable (_ times: Int) -> Void] = []
) -> [ThreadRun] {
    let (start, finish) = (StartingLine(bodies.count + others.count), FinishLine())
    let origin = ContinuousClock.now
    // Threads look at the finish only after a portion of operations.
    let portion = max(1, times / 100)
    let limits = bodies.map { ($0, times) } + others.map { ($0, Int.max) }
    let threads = limits.map { body, limit in
        MeasuredThread {
            start.wait()
            let preemptions = creference_preemptions()
            let begin = ContinuousClock.now
            var done = 0
            while done < limit, !finish.isReached {
                body(portion)
                done += portion
            }
            finish.reach()
            let end = ContinuousClock.now
            return ThreadRun(
                begin: (begin - origin) / .nanoseconds(1),
                end: (end - origin) / .nanoseconds(1),
                done: done,
                preemptions: creference_preemptions() - preemptions
            )
        }
    }
    return threads.map { $0.join() }
}

private final class FinishLine: Sendable {
    private let reached = Atomic<Bool>(false)

    /// Relaxed: another portion does no harm.
    var isReached: Bool { reached.load(ordering: .relaxed) }

    func reach() { reached.store(true, ordering: .relaxed) }
}

private final class StartingLine: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) { missing = Atomic(count) }

    /// Spins, so that all threads leave at the same moment. Sometimes yields, because the other
    /// threads may have no processor yet.
    func wait() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        var spins = 0
        while missing.load(ordering: .acquiring) > 0 {
            spins += 1
            if spins.isMultiple(of: 10_000) { sched_yield() }
        }
    }
}

/// A thread that returns the figures of its run.
private final class MeasuredThread {
    private let job: Job
    private var handle = pthread_t()

    private final class Job {
        let body: @Sendable () -> ThreadRun
        var run: ThreadRun?

        init(_ body: @escaping @Sendable () -> ThreadRun) { self.body = body }
    }

    init(_ body: @escaping @Sendable () -> ThreadRun) {
        job = Job(body)
        let error = pthread_create(
            &handle,
            nil,
            { argument in
                let job = Unmanaged<Job>.fromOpaque(argument!).takeUnretainedValue()
                job.run = job.body()
                return nil
            },
            Unmanaged.passUnretained(job).toOpaque()
        )
        precondition(error == 0, "the system starts no thread (error \(error))")
    }

    func join() -> ThreadRun {
        pthread_join(handle, nil)
        return job.run!
    }
}
