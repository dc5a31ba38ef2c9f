// SPDX-License-Identifier: Apache-2.0

extension HistorySubject {
    static let all: [HistorySubject] = [
        HistorySubject(
            name: "property-in-place",
            summary: "reading and changing properties whose value is kept in their own words"
        ) { PropertyTrial<UInt64>(threads: $0) },
        HistorySubject(
            name: "property-boxed",
            summary: "reading and changing properties whose value is kept in a box"
        ) { PropertyTrial<WideValue>(threads: $0) },
        HistorySubject(
            name: "registry",
            summary: "observing, ending, notifying and counting on one registry"
        ) { RegistryTrial(threads: $0) },
        HistorySubject(
            name: "removals",
            summary: "observing one property in several ways, and removing all of its observations"
        ) { RemovalTrial(threads: $0) },
    ]

    static func named(_ name: String) -> HistorySubject? { all.first { $0.name == name } }
}
