// SPDX-License-Identifier: Apache-2.0

import CReference
import Glibc
import Judging
import Synchronization

/// What an operation costs each of several threads that do so many at once, in nanoseconds; `bodies` has one for each thread.
///
/// All begin together: the last to arrive at the start lets all go. The first that has done `times` ends it for all: threads that
/// contend for a lock get on at different speeds, and the time in which one of them is alone is not of interest. What counts is the time of
/// all, over what they have done in it. On a machine that has something else to do they may run one after the other, and share
/// nothing; such a run is tried again, a limited number of times, and marked as disturbed if that did not help. The shorter it is, the
/// likelier it is left alone: a few milliseconds are enough.
func nanosecondsPerOperation(_ times: Int, _ bodies: [@Sendable (_ times: Int) -> Void]) -> Sample {
    var last = Double.nan
    for _ in 0..<8 {
        let together = Together(times, bodies)
        last = together.nanosecondsPerOperation
        if together.isUndisturbed { return Sample(last) }
    }
    return Sample(last, isDisturbed: true)
}

/// One run of several threads.
private struct Together {
    private let runs: [Run]

    struct Run {
        let begin: ContinuousClock.Instant
        let end: ContinuousClock.Instant
        /// Operations.
        let done: Int
        /// How often the system took the processor away.
        let preemptions: Int
    }

    init(_ times: Int, _ bodies: [@Sendable (Int) -> Void]) {
        let (start, finish) = (StartingLine(bodies.count), FinishLine())
        // Several look at the finish line, and do not need to do so for each operation.
        let portion = max(1, times / 100)
        let threads = bodies.map { body in
            MeasuredThread {
                start.wait()
                let preemptions = creference_preemptions()
                let begin = ContinuousClock.now
                var done = 0
                while done < times, !finish.isReached {
                    body(portion)
                    done += portion
                }
                finish.reach()
                return Run(begin: begin, end: .now, done: done, preemptions: creference_preemptions() - preemptions)
            }
        }
        runs = threads.map { $0.join() }
    }

    var nanosecondsPerOperation: Double {
        runs.map { ($0.end - $0.begin) / .nanoseconds(1) }.reduce(0, +) / Double(runs.map(\.done).reduce(0, +))
    }

    /// The part of the time during which all ran.
    var overlap: Double {
        let (begins, ends) = (runs.map(\.begin), runs.map(\.end))
        return (ends.min()! - begins.max()!) / (ends.max()! - begins.min()!)
    }

    var isUndisturbed: Bool { overlap > 0.8 && runs.allSatisfy { $0.preemptions == 0 } }
}

private final class FinishLine: Sendable {
    private let reached = Atomic<Bool>(false)

    /// Relaxed: a portion more does no harm.
    var isReached: Bool { reached.load(ordering: .relaxed) }

    func reach() { reached.store(true, ordering: .relaxed) }
}

private final class StartingLine: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) { missing = Atomic(count) }

    /// Spins, so that all leave at the same moment; yields now and then, for the others may have no processor yet.
    func wait() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        var spins = 0
        while missing.load(ordering: .acquiring) > 0 {
            spins += 1
            if spins.isMultiple(of: 10_000) { sched_yield() }
        }
    }
}

/// A thread that yields the figures of its run.
private final class MeasuredThread {
    private let job: Job
    private var handle = pthread_t()

    private final class Job {
        let body: @Sendable () -> Together.Run
        var run: Together.Run?

        init(_ body: @escaping @Sendable () -> Together.Run) { self.body = body }
    }

    init(_ body: @escaping @Sendable () -> Together.Run) {
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

    func join() -> Together.Run {
        pthread_join(handle, nil)
        return job.run!
    }
}
