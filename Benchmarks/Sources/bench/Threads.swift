// SPDX-License-Identifier: Apache-2.0

import CReference
import Glibc
import Synchronization

/// Runs `body` on `count` threads at once and returns the mean of the nanoseconds each took.
///
/// They begin together: the last to arrive at the start lets all go. On a machine that has something else to do as well they
/// may run one after the other, and share nothing; such a run is tried again, a limited number of times. Returns NaN if
/// that did not help.
func nanosecondsPerThread(_ count: Int, _ body: @escaping @Sendable () -> Void) -> Double {
    for _ in 0..<5 {
        let together = Together(count, body)
        if together.isUndisturbed { return together.nanosecondsPerThread }
    }
    return .nan
}

/// One run of several threads.
private struct Together {
    private let runs: [Run]

    struct Run {
        let begin: ContinuousClock.Instant
        let end: ContinuousClock.Instant
        /// How often the system took the processor away.
        let preemptions: Int
    }

    init(_ count: Int, _ body: @escaping @Sendable () -> Void) {
        let start = StartingLine(count)
        let threads = (0..<count).map { _ in
            MeasuredThread {
                start.wait()
                let preemptions = creference_preemptions()
                let begin = ContinuousClock.now
                body()
                return Run(begin: begin, end: .now, preemptions: creference_preemptions() - preemptions)
            }
        }
        runs = threads.map { $0.join() }
    }

    var nanosecondsPerThread: Double {
        runs.map { ($0.end - $0.begin) / .nanoseconds(1) }.reduce(0, +) / Double(runs.count)
    }

    /// The part of the time during which all ran.
    var overlap: Double {
        let (begins, ends) = (runs.map(\.begin), runs.map(\.end))
        return (ends.min()! - begins.max()!) / (ends.max()! - begins.min()!)
    }

    var isUndisturbed: Bool { overlap > 0.8 && runs.allSatisfy { $0.preemptions == 0 } }
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
