// SPDX-License-Identifier: Apache-2.0

import StressKit

/// A moment at which more than one thread can go on.
package struct Decision: Equatable, Sendable {
    /// The thread that runs; nil if it cannot go on.
    package let holder: Int?
    /// The threads that can go on, the holder among them.
    package let ready: ThreadSet
    /// The ready threads that have not paused, else the one that paused first. Without this,
    /// threads that wait in loops could keep all others from running.
    /// (Musuvathi and Qadeer, "Fair Stateless Model Checking", PLDI 2008.)
    package let due: ThreadSet
    /// The threads that can go on if a wait of theirs runs out first.
    package let dozing: ThreadSet
    /// The numbers of the faults that may happen instead.
    package var faults = ThreadSet()
    /// Steps that were taken before.
    package let step: Int

    package var options: ThreadSet { ready.union(dozing).union(faults) }

    /// The default choice: the running thread goes on, else the first that is due.
    package var usual: Int { holder ?? due.first ?? dozing.first! }

    /// How many preemptions it takes to let `thread` go on: one, if the holder could, or if its
    /// time has not come, or it has paused. A fault costs as much.
    package func cost(of thread: Int) -> Int {
        if let holder, !faults.contains(thread) { return thread == holder ? 0 : 1 }
        return due.contains(thread) ? 0 : 1
    }
}

/// Decides which thread goes on, schedule after schedule.
package protocol Strategy: AnyObject {
    /// One of the decision's options.
    func choose(_ decision: Decision) -> Int
    /// Called after each schedule; false when there is no other.
    func advance() -> Bool
}

/// Lets every thread run until it cannot go on.
package final class Undisturbed: Strategy {
    package init() {}
    package func choose(_ decision: Decision) -> Int { decision.usual }
    package func advance() -> Bool { false }
}

/// The next thread at every step.
package final class RoundRobin: Strategy {
    private var last = -1

    package init() {}

    package func choose(_ decision: Decision) -> Int {
        let ready = decision.ready.members
        last = ready.first { $0 > last } ?? ready[0]
        return last
    }

    package func advance() -> Bool { false }
}

/// Any thread, each as likely, at every step.
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
        // A wait runs out early now and then.
        let options = generator.oneIn(16) ? decision.ready.union(decision.dozing).members : decision.ready.members
        return options[generator.below(options.count)]
    }

    package func advance() -> Bool {
        fault.place(&generator)
        left -= 1
        return left > 0
    }
}

/// Where a random strategy has something go wrong: each step is as likely as any other. The first
/// schedule shows how many there are.
package struct FaultPlace {
    /// The longest schedule so far.
    private var length = 0
    private var place = Int.max

    /// A fault, if its place has come: one a schedule.
    package mutating func choose(_ decision: Decision, _ generator: inout Generator) -> Int? {
        length = max(length, decision.step + 1)
        guard decision.step >= place, !decision.faults.isEmpty else { return nil }
        place = .max
        let faults = decision.faults.members
        return faults[generator.below(faults.count)]
    }

    /// Chooses the place for the next schedule.
    package mutating func place(_ generator: inout Generator) { place = generator.below(max(length, 1)) }
}
