// SPDX-License-Identifier: Apache-2.0

/// One situation that the library is put under, with the invariants that must hold.
struct Scenario: Sendable {
    /// As the command line names it.
    let name: String
    let summary: String
    /// The invariants that it checks, each named after its promise.
    let invariants: [String]
    /// The events without which a pass means nothing; scenarios count them by index.
    let windows: [String]
    /// Threads it needs at least.
    var leastThreads = 2
    /// Delays that it does not get: under them the system would break a bound that the scenario
    /// holds against the clock.
    var excluded: PerturbationKinds = []
    /// The sanitizers under which it cannot run.
    var unfit: Set<Sanitizer> = []
    /// Runs one round: builds the objects, starts the threads, and checks at rest.
    let run: @Sendable (Round) -> Void

    /// The promises that the invariants belong to.
    var promises: [String] {
        Set(invariants.compactMap { $0.split(separator: ".").first.map(String.init) })
            .sorted { ($0.count, $0) < ($1.count, $1) }
    }

    /// The promises of the contract.
    static let promiseIDs = (1...25).map { "P\($0)" }

    static let all: [Scenario] = [
        .registrationChurn, .notificationStorm, .cancellationRaces, .mutualCancellation, .registryDeath, .ownerDeath,
        .cancellationFlood, .reentrancy, .destruction, .threadChurn, .stuckCallback, .asynchronousUse,
        .mutationStorm, .tornReads, .initialAgainstWriters, .propertyDeath, .valueDestruction, .magazines,
        .parkedInModify,
        .compareExchange, .pathRelinking, .pathDeath, .bulkRemoval, .combinations, .transactions, .transactionPaths,
        .transactionBindings,
        .parkedInCommit, .derivedGraphs,
        .derivedUses, .asyncRuns, .runsWhileObserved,
        .weakReferentDeath, .twoWayBinding, .actorOrder, .flood, .sequenceCancellation, .firstValue,
        .mutualActors, .serialHandover, .deliveryCancellation,
        .realtimePath, .forking, .slowNeighbours, .blockedSource, .threadFamine,
    ]

    static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }
}
