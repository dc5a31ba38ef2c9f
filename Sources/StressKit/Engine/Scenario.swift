// SPDX-License-Identifier: Apache-2.0

/// One situation that a program is put under, with the invariants that must hold.
package struct Scenario: Sendable {
    /// As the command line names it.
    package let name: String
    package let summary: String
    /// The invariants that it checks, each named after its promise.
    package let invariants: [String]
    /// The events without which a pass means nothing; scenarios count them by index.
    package let windows: [String]
    /// Threads it needs at least.
    package var leastThreads: Int
    /// Delays that it does not get: under them the system would break a bound that the scenario
    /// holds against the clock.
    package var excluded: PerturbationKinds
    /// The sanitizers under which it cannot run.
    package var unfit: Set<Sanitizer>
    /// Runs one round: builds the objects, starts the threads, and checks at rest.
    package let run: @Sendable (Round) -> Void

    package init(
        name: String,
        summary: String,
        invariants: [String],
        windows: [String],
        leastThreads: Int = 2,
        excluded: PerturbationKinds = [],
        unfit: Set<Sanitizer> = [],
        run: @escaping @Sendable (Round) -> Void
    ) {
        (self.name, self.summary, self.invariants, self.windows) = (name, summary, invariants, windows)
        (self.leastThreads, self.excluded, self.unfit, self.run) = (leastThreads, excluded, unfit, run)
    }

    /// The promises that the invariants belong to: what stands before the first dot.
    package var promises: [String] {
        Set(invariants.compactMap { $0.split(separator: ".").first.map(String.init) })
            .sorted { ($0.count, $0) < ($1.count, $1) }
    }
}
