// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// The ids of the contract's promises.
    static let promiseIDs = (1...25).map { "P\($0)" }

    static let all: [Scenario] = [
        .registrationChurn, .notificationStorm, .cancellationRaces, .mutualCancellation, .registryDeath, .ownerDeath,
        .cancellationFlood, .reentrancy, .destruction, .threadChurn, .stuckCallback, .asynchronousUse,
        .mutationStorm, .tornReads, .initialAgainstWriters, .propertyDeath, .valueDestruction, .magazines,
        .parkedInModify,
        .compareExchange, .pathRelinking, .pathDeath, .bulkRemoval, .combinations, .transactions, .transactionPaths,
        .transactionBindings,
        .parkedInCommit, .derivedGraphs,
        .derivedUses, .randomRings, .asyncRuns, .runsWhileObserved,
        .weakReferentDeath, .twoWayBinding, .actorOrder, .flood, .sequenceCancellation, .firstValue,
        .mutualActors, .serialHandover, .deliveryCancellation,
        .realtimePath, .forking, .slowNeighbours, .blockedSource, .threadFamine,
    ]

    static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }
}
