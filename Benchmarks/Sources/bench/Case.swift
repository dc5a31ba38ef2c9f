// SPDX-License-Identifier: Apache-2.0

import Judging

/// One line of the table: the measured operation, and its reference.
struct Case: Sendable {
    /// `subject.operation.situation`.
    let name: String
    let unit: Unit
    /// Bounds our figure, divided by the reference's if there is one.
    let bar: Bar
    /// Whether the best or the median of the rounds is the figure of the case.
    var summary = Summary.best
    /// Whether the rounds are long. Then fewer are measured.
    var isLong = false
    /// Whether every observer that `prepare` makes is called in the rounds.
    var callsObservers = true
    /// Prepares the situation. Called just before the case is measured. The objects of the sides
    /// are freed after it.
    let prepare: @Sendable (Effort) -> Sides

    /// One round of each side. The figure is in `unit`.
    struct Sides {
        let ours: () -> Sample
        let reference: (() -> Sample)?

        /// Makes sides that notice by themselves whether they were disturbed.
        init(ours: @escaping () -> Sample, reference: (() -> Sample)? = nil) {
            (self.ours, self.reference) = (ours, reference)
        }

        init(ours: @escaping () -> Double, reference: (() -> Double)? = nil) {
            self.ours = { Sample(ours()) }
            self.reference = reference.map { figure in { Sample(figure()) } }
        }
    }

    enum Unit: String {
        case nanoseconds = "ns"
        case microseconds = "µs"
        case milliseconds = "ms"
        case seconds = "s"
        case bytes = "B"
        case mebibytes = "MiB"
        case growth = "x"
        case allocations = "allocations"
    }

    /// Measures the case with the objects that this process has made for it.
    func run(_ effort: Effort, _ distance: inout ProcessorDistance) -> Rounds {
        Counter.watched(
            name,
            areCalled: callsObservers,
            prepare: { prepare(effort) },
            measure: { measure($0, effort, &distance) }
        )
    }

    private func measure(_ sides: Sides, _ effort: Effort, _ distance: inout ProcessorDistance) -> Rounds {
        var rounds = Rounds()
        // A round that is not kept. It fills caches, makes the thread's record, and raises the
        // processor's clock.
        _ = sides.reference?()
        _ = sides.ours()
        rounds.run(
            isLong ? max(3, effort.rounds / 4) : effort.rounds,
            settle: { distance.settle() },
            ours: sides.ours,
            reference: sides.reference
        )
        return rounds
    }
}
