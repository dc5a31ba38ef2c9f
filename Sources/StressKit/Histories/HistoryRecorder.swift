// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Records histories on real threads, and judges them.
///
/// Every thread meets the others before each trial, so that their operations overlap, and judges
/// its share of the trials when a batch is recorded.
package final class HistoryRecorder: @unchecked Sendable {
    // Unchecked: `trials` is written by one thread between two meetings; `result` is guarded.
    private let subject: HistorySubject
    private let plan: Plan
    private let meeting: Meeting
    private var trials: [any HistoryTrial] = []
    private let result = Guarded(Result())

    package struct Plan: Sendable {
        package var histories: Int
        /// When the recording ends, in nanoseconds of the clock, though fewer histories are there.
        package var end: UInt64?
        package var threads: Int
        /// Operations of each thread in one history.
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
        /// Whether the plan's time is over. Decided before all threads meet, so that all agree.
        package var isOverdue = false

        /// How the command ends: too few histories in which threads met show nothing.
        package var exit: StressExit {
            if witness != nil { return .violated }
            return overlapping * 2 >= histories && histories > 0 ? .pass : .inconclusive
        }
    }

    /// Trials between two judgements.
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

    /// Gives the processor away now and then. Call it within operations: on few processors they
    /// hardly overlap otherwise.
    package static func interrupt() {
        // The clock's low digits: a generator per thread would cost as much.
        let dice = nanoseconds() &* 0x9E37_79B9_7F4A_7C15 >> 32
        if dice % 8 == 0 { sched_yield() } else if dice % 8 == 1 { spin(nanoseconds: 500) }
    }

    /// Judges the thread's share of the batch.
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

/// Where a fixed number of threads wait for each other, again and again.
private final class Meeting: Sendable {
    private let size: Int
    private let arrived = Atomic<Int>(0)
    private let round = Atomic<Int>(0)

    /// Threads that spin go on together, so that their operations overlap. Where there are more
    /// threads than processors, one that spins keeps the others from coming.
    private let mostSpins: Int

    package init(of size: Int) {
        self.size = size
        mostSpins = size <= processorCount ? 5_000 : 200
    }

    package func join() {
        // Relaxed: this thread's own last round, which cannot end without it.
        let present = round.load(ordering: .relaxed)
        // Acquire and release: what all did before the meeting is seen by all after it.
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
