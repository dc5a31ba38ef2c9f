// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Runs `body` on `count` threads at once and returns the mean of the nanoseconds each took.
///
/// They begin together: the last to arrive at the start lets all go.
func nanosecondsPerThread(_ count: Int, _ body: @escaping @Sendable () -> Void) -> Double {
    let start = StartingLine(count)
    let threads = (0..<count).map { _ in
        Thread {
            start.wait()
            return nanoseconds(body)
        }
    }
    return threads.map { $0.join() }.reduce(0, +) / Double(count)
}

private final class StartingLine: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) { missing = Atomic(count) }

    /// Spins, so that all leave at the same moment.
    func wait() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    }
}

/// A thread that yields a number.
private final class Thread {
    private let job: Job
    private var handle = pthread_t()

    private final class Job {
        let body: @Sendable () -> Double
        var result = 0.0

        init(_ body: @escaping @Sendable () -> Double) { self.body = body }
    }

    init(_ body: @escaping @Sendable () -> Double) {
        job = Job(body)
        let error = pthread_create(
            &handle,
            nil,
            { argument in
                let job = Unmanaged<Job>.fromOpaque(argument!).takeUnretainedValue()
                job.result = job.body()
                return nil
            },
            Unmanaged.passUnretained(job).toOpaque()
        )
        precondition(error == 0, "the system starts no thread (error \(error))")
    }

    func join() -> Double {
        pthread_join(handle, nil)
        return job.result
    }
}
