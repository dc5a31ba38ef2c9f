// SPDX-License-Identifier: Apache-2.0

import StressKit

/// Random priorities that change at a few random steps: finds a bug that takes `depth` orderings
/// with a probability that is known.
///
/// (PCT: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs", ASPLOS 2010. With *n* threads and *k* steps a run finds it with at
/// least 1 / (*n* · *k*^(depth − 1)).)
package final class PriorityWalk: Strategy {
    private var generator: Generator
    private let depth: Int
    private var left: Int

    /// The highest goes on. Threads get theirs when they are met first.
    private var priorities: [Int: Int] = [:]
    private var changes: [Int: Int] = [:]
    private var step = 0
    private var fault = FaultPlace()
    /// The longest schedule so far: where to place the changes.
    private var length = 1

    package init(depth: Int, seed: UInt64, runs: Int) {
        self.depth = depth
        generator = Generator(seed: seed, stream: 0)
        left = runs
    }

    package func choose(_ decision: Decision) -> Int {
        step += 1
        if let fault = fault.choose(decision, &generator) { return fault }
        for thread in decision.options.members where priorities[thread] == nil {
            priorities[thread] = depth + generator.below(1 << 20)
        }
        // A change point lowers the priority of the thread that would go on, below all that were
        // given at the start.
        if let lower = changes[step] { priorities[highest(decision)] = lower }
        return highest(decision)
    }

    private func highest(_ decision: Decision) -> Int {
        (decision.holder == nil ? decision.due : decision.ready).members.max {
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
