// SPDX-License-Identifier: Apache-2.0

/// A seeded bug that histories must show, without an invariant made for it.
struct HistoryMutant: Sendable {
    /// As in `Mutant.all`.
    let name: String
    /// The subject whose histories show it.
    let subject: String

    static let all: [HistoryMutant] = [
        // No invariant of a scenario catches this one.
        HistoryMutant(name: "a removal takes two steps", subject: "registry"),
        HistoryMutant(name: "an end is not counted", subject: "registry"),
        HistoryMutant(name: "a delivery is dropped", subject: "registry"),
        HistoryMutant(name: "a delivery is repeated", subject: "registry"),
        HistoryMutant(name: "a table is taken away before the next is there", subject: "registry"),
        HistoryMutant(name: "an ended token says it is active", subject: "registry"),
        HistoryMutant(name: "a comparison is not repeated", subject: "property-boxed"),
        HistoryMutant(name: "a read takes the other slot", subject: "property-in-place"),
        HistoryMutant(name: "a value is read after the read section", subject: "property-boxed"),
        HistoryMutant(name: "a version is handed out outside the lock", subject: "property-in-place"),
        HistoryMutant(name: "a version is told before its change", subject: "property-in-place"),
        HistoryMutant(name: "an exchange returns what it has put", subject: "property-in-place"),
        HistoryMutant(name: "a body runs outside the lock", subject: "property-in-place"),
    ]
}
