// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Records histories on real threads, and judges them.
///
/// Before each trial every thread waits for the others, so that their operations overlap. When a
/// batch is recorded, each thread judges a share of it.
package final class HistoryRecorder: @unchecked Sendable {
    // Unchecked: one thread writes `trials`, between two meetings; `result` is guarded.
    private let subject: HistorySubject
    private let plan: Plan
    private let meeting: Meeting
    private var trials: [any HistoryTrial] = []
    private let result = Guarded(Result())

    package struct Plan: Sendable {
        package var histories: Int
        /// The time at which the recording ends, even if there are fewer histories than planned;
        /// nil if there is no such time.
        package var end: UInt64?
        package var threads: Int
        /// The number of operations of each thread in one history.
        package var operations: Int
        package var seed: UInt64

        package init(histories: Int, end: UInt64?, threads: Int, operations: Int, seed: UInt64) {
            (self.histories, self.end, self.threads) = (histories, end, threads)
            (self.operations, self.seed) = (operations, seed)
        }
    }

    package struct Result: Sendable {
        package var histories = 0
        package var overlapping = 0
        package var operations = 0
        package var witness: String?
        /// Whether the time of the plan has passed. One thread decides this before all threads
        /// meet, so all find the same answer.
        package var isOverdue = false

        /// The exit code of the command. It is not success if there are too few histories with
        /// overlapping operations, since the others show little.
        package var exit: StressExit {
            if witness != nil { return .violated }
            return overlapping * 2 >= histories && histories > 0 ? .pass : .inconclusive
        }
    }

    /// The number of trials in a batch.
    private static let batchLength = 256

    package init(_ subject: HistorySubject, _ plan: Plan) {
        self.subject = subject
        self.plan = plan
        meeting = Meeting(of: plan.threads)
    }

    package func run() -> Result {
        concurrently(plan.threads) { thread in
            var generator = Generator(seed: self.plan.seed, stream: UInt64(thread) + 1)
            var first = 0
            while first < self.plan.histories, self.result.withLock({ $0.witness == nil && !$0.isOverdue }) {
                let count = min(Self.batchLength, self.plan.histories - first)
                if thread == 0 { self.trials = (0..<count).map { _ in self.subject.makeTrial(self.plan.threads) } }
                self.meeting.join()
                for trial in self.trials {
                    self.meeting.join()
                    for index in 0..<self.plan.operations { trial.step(thread, index, &generator) }
                }
                self.meeting.join()
                self.judge(thread)
                self.meeting.join()
                first += count
            }
        }
        return result.withLock { $0 }
    }

    /// Sometimes gives the processor to other threads. Call it within operations: with few
    /// processors they hardly overlap otherwise.
    package static func interrupt() {
        // The last digits of the clock serve as a random number: a generator for each thread would
        // cost more.
        let dice = nanoseconds() &* 0x9E37_79B9_7F4A_7C15 >> 32
        if dice % 8 == 0 { sched_yield() } else if dice % 8 == 1 { spin(nanoseconds: 500) }
    }

    /// Judges this thread's share of the batch.
    private func judge(_ thread: Int) {
        if thread == 0, let end = plan.end, nanoseconds() > end { result.withLock { $0.isOverdue = true } }
        for index in stride(from: thread, to: trials.count, by: plan.threads) {
            let verdict = trials[index].judge()
            result.withLock { result in
                result.histories += 1
                result.overlapping += verdict.overlaps ? 1 : 0
                result.operations += verdict.operations
                if result.witness == nil { result.witness = verdict.witness }
            }
        }
    }
}

/// A place where a fixed number of threads wait for each other, again and again.
private final class Meeting: Sendable {
    private let size: Int
    private let arrived = Atomic<Int>(0)
    private let round = Atomic<Int>(0)

    /// The largest number of times that a waiting thread spins. Threads that spin continue at the
    /// same time, so that their operations overlap. If there are more threads than processors, a
    /// thread that spins prevents the others from arriving.
    private let mostSpins: Int

    package init(of size: Int) {
        self.size = size
        mostSpins = size <= processorCount ? 5_000 : 200
    }

    package func join() {
        // Relaxed: this thread's own last round, which does not end without this thread.
        let present = round.load(ordering: .relaxed)
        // Acquire and release: each thread sees after the meeting what all threads did before it.
        if arrived.add(1, ordering: .acquiringAndReleasing).newValue == size {
            // Relaxed: the store below publishes it.
            arrived.store(0, ordering: .relaxed)
            // Release: pairs with the acquire below.
            round.store(present + 1, ordering: .releasing)
            return
        }
        var spins = 0
        // Acquire: pairs with the release above.
        while round.load(ordering: .acquiring) == present {
            spins += 1
            if spins > mostSpins { sched_yield() }
        }
    }
}
