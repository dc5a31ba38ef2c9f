// SPDX-License-Identifier: Apache-2.0

import StressKit

/// A place in a schedule at which more than one thread can go on.
package struct Decision: Equatable, Sendable {
    /// The running thread; nil if it cannot go on.
    package let holder: Int?
    /// The threads that can go on. They include the holder, if there is one.
    package let ready: ThreadSet
    /// The ready threads that have not paused; if there are none, the one that paused first.
    /// Without this, threads that wait in loops could keep all others from running. (Musuvathi and
    /// Qadeer, "Fair Stateless Model Checking", PLDI 2008.)
    package let due: ThreadSet
    /// The threads that can go on only if their wait runs out first.
    package let dozing: ThreadSet
    /// The numbers of the faults that may happen here instead.
    package var faults = ThreadSet()
    /// The number of steps before this decision.
    package let step: Int

    package var options: ThreadSet { ready.union(dozing).union(faults) }

    /// The default choice: the running thread, or else the first thread that is due.
    package var usual: Int { holder ?? due.first ?? dozing.first! }

    /// Returns the cost of letting `thread` go on, in preemptions. It is 1 if the holder could go
    /// on instead, if the thread's wait would have to run out early, or if the thread has paused;
    /// otherwise 0. A fault costs 1.
    package func cost(of thread: Int) -> Int {
        if let holder, !faults.contains(thread) { return thread == holder ? 0 : 1 }
        return due.contains(thread) ? 0 : 1
    }
}

/// Decides at each step which thread goes on, in one schedule after the other.
package protocol Strategy: AnyObject {
    /// Returns one of the decision's options.
    func choose(_ decision: Decision) -> Int
    /// Prepares the next schedule. Called after each one. Returns false if there is no other.
    func advance() -> Bool
}

/// Lets every thread run until it cannot go on. There are no preemptions.
package final class Undisturbed: Strategy {
    package init() {}
    package func choose(_ decision: Decision) -> Int { decision.usual }
    package func advance() -> Bool { false }
}

/// Chooses the next thread in a circle at every step.
package final class RoundRobin: Strategy {
    private var last = -1

    package init() {}

    package func choose(_ decision: Decision) -> Int {
        last = decision.ready.first { $0 > last } ?? decision.ready.first!
        return last
    }

    package func advance() -> Bool { false }
}

/// Chooses any thread at every step, each with the same probability.
package final class RandomWalk: Strategy {
    private var generator: Generator
    private var left: Int
    private var fault = FaultPlace()

    package init(seed: UInt64, runs: Int) {
        generator = Generator(seed: seed, stream: 0)
        left = runs
    }

    package func choose(_ decision: Decision) -> Int {
        if let fault = fault.choose(decision, &generator) { return fault }
        // Sometimes a wait runs out early.
        let options = generator.oneIn(16) ? Array(decision.ready.union(decision.dozing)) : Array(decision.ready)
        return options[generator.below(options.count)]
    }

    package func advance() -> Bool {
        fault.place(&generator)
        left -= 1
        return left > 0
    }
}

/// Chooses the step at which a random strategy makes a fault happen. Each step has the same
/// probability. The first schedule has no fault, and shows how many steps there are.
package struct FaultPlace {
    /// The length of the longest schedule so far.
    private var length = 0
    private var place = Int.max

    /// Returns a fault if its place has come; otherwise nil. There is at most one in each schedule.
    package mutating func choose(_ decision: Decision, _ generator: inout Generator) -> Int? {
        length = max(length, decision.step + 1)
        guard decision.step >= place, !decision.faults.isEmpty else { return nil }
        place = .max
        let faults = Array(decision.faults)
        return faults[generator.below(faults.count)]
    }

    /// Chooses the place for the next schedule.
    package mutating func place(_ generator: inout Generator) { place = generator.below(max(length, 1)) }
}
