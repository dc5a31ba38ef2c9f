// SPDX-License-Identifier: Apache-2.0

/// A situation for a program under test, with the invariants that must hold in it.
package struct Scenario: Sendable {
    /// The name on the command line.
    package let name: String
    package let summary: String
    /// The invariants that it checks. Each name begins with the id of its promise.
    package let invariants: [String]
    /// The events that must happen, because without them a pass means nothing. Scenarios count them
    /// by index.
    package let windows: [String]
    /// The smallest number of threads with which it can run.
    package var leastThreads: Int
    /// The delays that it does not get. Under them the system would break a time limit that the
    /// scenario checks.
    package var excluded: PerturbationKinds
    /// The sanitizers under which it cannot run.
    package var unfit: Set<Sanitizer>
    /// Runs one round: makes the objects, starts the threads, and checks at rest.
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

    /// The promises of the invariants: the part of each name before the first dot.
    package var promises: [String] {
        Set(invariants.compactMap { $0.split(separator: ".").first.map(String.init) })
            .sorted { ($0.count, $0) < ($1.count, $1) }
    }
}
