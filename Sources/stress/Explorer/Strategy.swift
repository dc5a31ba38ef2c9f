// SPDX-License-Identifier: Apache-2.0

/// A moment at which more than one thread can go on.
struct Decision: Equatable, Sendable {
    /// The thread that has the baton; nil if it cannot go on.
    let holder: Int?
    /// The threads that can go on, the holder among them.
    let ready: ThreadSet
    /// The threads that can go on if a wait of theirs runs out first.
    let dozing: ThreadSet
    /// Steps that were taken before.
    let step: Int

    var options: ThreadSet { ready.union(dozing) }

    /// What happens unless somebody interferes: the holder goes on, else the first that can.
    var usual: Int { holder ?? ready.first ?? dozing.first! }

    /// How many preemptions it takes to let `thread` go on: one, if the holder could, or if its time has not come.
    func cost(of thread: Int) -> Int {
        if let holder { return thread == holder ? 0 : 1 }
        return ready.contains(thread) ? 0 : 1
    }
}

/// Decides which thread goes on, schedule after schedule.
protocol Strategy: AnyObject {
    /// One of the decision's options.
    func choose(_ decision: Decision) -> Int
    /// Called after each schedule; false when there is no other.
    func advance() -> Bool
}

/// Lets every thread run until it cannot go on.
final class Undisturbed: Strategy {
    func choose(_ decision: Decision) -> Int { decision.usual }
    func advance() -> Bool { false }
}

/// The next thread at every step.
final class RoundRobin: Strategy {
    private var last = -1

    func choose(_ decision: Decision) -> Int {
        let ready = decision.ready.members
        last = ready.first { $0 > last } ?? ready[0]
        return last
    }

    func advance() -> Bool { false }
}

/// Any thread, each as likely, at every step.
final class RandomWalk: Strategy {
    private var generator: Generator
    private var left: Int

    init(seed: UInt64, runs: Int) {
        generator = Generator(seed: seed, stream: 0)
        left = runs
    }

    func choose(_ decision: Decision) -> Int {
        // A wait runs out early now and then.
        let options = generator.oneIn(16) ? decision.options.members : decision.ready.members
        return options[generator.below(options.count)]
    }

    func advance() -> Bool {
        left -= 1
        return left > 0
    }
}
