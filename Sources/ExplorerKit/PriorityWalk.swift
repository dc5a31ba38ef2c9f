// SPDX-License-Identifier: Apache-2.0

import StressKit

/// Gives threads random priorities that change at a few random steps. It finds a bug that needs
/// `depth` orderings with a known probability.
///
/// (PCT: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs", ASPLOS 2010. With *n* threads and *k* steps a run finds it with at
/// least 1 / (*n* · *k*^(depth − 1)).)
package final class PriorityWalk: Strategy {
    private var generator: Generator
    private let depth: Int
    private var left: Int

    /// The priority of each thread, by its index. The thread with the highest priority goes on. A
    /// thread gets its priority at the first decision that has it as an option.
    private var priorities: [Int: Int] = [:]
    private var changes: [Int: Int] = [:]
    private var step = 0
    private var fault = FaultPlace()
    /// The length of the longest schedule so far. The changes are placed within this length.
    private var length = 1

    package init(depth: Int, seed: UInt64, runs: Int) {
        self.depth = depth
        generator = Generator(seed: seed, stream: 0)
        left = runs
    }

    package func choose(_ decision: Decision) -> Int {
        step += 1
        if let fault = fault.choose(decision, &generator) { return fault }
        for thread in decision.options where priorities[thread] == nil {
            priorities[thread] = depth + generator.below(1 << 20)
        }
        // A change point lowers the priority of the thread that would go on. The new priority is
        // below all initial ones.
        if let lower = changes[step] { priorities[highest(decision)] = lower }
        return highest(decision)
    }

    private func highest(_ decision: Decision) -> Int {
        (decision.holder == nil ? decision.due : decision.ready).max {
            (priorities[$0]!, $1) < (priorities[$1]!, $0)
        }!
    }

    package func advance() -> Bool {
        length = max(length, step)
        step = 0
        fault.place(&generator)
        priorities = [:]
        changes = [:]
        for change in 1..<max(depth, 1) { changes[1 + generator.below(length)] = change }
        left -= 1
        return left > 0
    }
}
