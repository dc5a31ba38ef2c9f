// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// Observers come and go. The property that they observe is set by an asynchronous function
    /// that runs while there are observers.
    static let runsWhileObserved = Scenario(
        name: "runs-while-observed",
        summary:
            "observers of a property whose function runs while it is observed come and go: never two runs, one with observers, none without",
        invariants: [
            "P24.one-run", "P24.run-begins", "P24.run-ends", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: ["a run began beside observers that come and go", "an observer came while the run before it ended"]
    ) { round in
        race(round)
        round.checkRest()
    }
}

/// A function of its own, so that the witness is gone when it returns.
private func race(_ round: Round) {
    let runs = RunWitness(round)
    round.load { worker in
        worker.begin("observe")
        let begun = runs.begun.value
        let token = runs.observe()
        if runs.ending.value > 0 { worker.hit(1) }
        spin(nanoseconds: UInt64(worker.generator.below(64)) * 1_000)
        token.cancel()
        if runs.begun.value > begun { worker.hit(0) }
        // So that there are moments without an observer.
        usleep(UInt32(worker.generator.below(300)))
    }
    if round.violations.isEmpty { runs.settle() }
    if round.violations.isEmpty { RunWitness(round).departFirst() }
}

/// Counts the runs of a `WhileObserved`.
private final class RunWitness: Sendable {
    private let round: Round
    private let property: WhileObserved<UInt64>
    /// Count the runs that have begun, that are going on, and that are about to end.
    let (begun, going, ending) = (Tally(), Tally(), Tally())

    init(_ round: Round) {
        self.round = round
        property = WhileObserved(0) { [begun, going, ending] property in
            checkUserCode("function")
            // First: a run that has begun is going on, or has returned.
            let count = going.increment()
            property.value = begun.increment()
            round.check(count == 1, "P24.one-run", "\(count) runs go on at a time")
            // Sleeps until it is cancelled. A loop would starve the threads that wait for the end
            // of the run.
            try? await Task.sleep(for: .seconds(1_000))
            ending += 1
            for _ in 0..<64 { await Task.yield() }
            ending -= 1
            going -= 1
        }
    }

    func observe() -> ObservationToken {
        property.observe { _ in checkUserCode("callback") }
    }

    /// Waits for the end of the last run. Then observes repeatedly, and waits for a new run for
    /// each observation. Every observation but the first may begin while the previous run is
    /// ending, or before its task has noticed that the last observer has gone.
    func settle() {
        wait(for: 0, "P24.run-ends", "there is no observer, and a run goes on")
        for _ in 0..<20 where round.violations.isEmpty {
            let before = begun.value
            let token = observe()
            round.wait(for: "P24.run-begins", "an observer has come, and no run begins", moving: { begun.value }) {
                begun.value > before && going.value == 1
            }
            token.cancelAndWaitBlocking()
        }
        wait(for: 0, "P24.run-ends", "the last observer is gone, and a run goes on")
    }

    /// Observes for the first time, while nothing else can run in the runtime's threads: when the
    /// task of the runs begins, the observer has departed. (The end of an earlier run could be the
    /// end of this observer's run, too.)
    func departFirst() {
        let (departures, isFree) = (Tally(), Tally())
        // Tasks begin in the order in which they are made, and each of these keeps its thread.
        for _ in 0..<64 { Task.detached { while isFree.value == 0 { usleep(100) } } }
        observe().onEnd { _ in departures += 1 }.cancel()
        round.wait(for: "P24.run-ends", "an observation is cancelled, and does not end") { departures.value == 1 }
        isFree += 1
        round.wait(for: "P24.run-ends", "the observer departed before its run began, and the run goes on") {
            begun.value == 1 && going.value == 0
        }
    }

    private func wait(for going: UInt64, _ invariant: String, _ failure: String) {
        round.wait(for: invariant, failure, moving: { begun.value }) { self.going.value == going }
    }
}
