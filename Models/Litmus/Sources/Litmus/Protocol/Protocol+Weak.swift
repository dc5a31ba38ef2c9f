// SPDX-License-Identifier: Apache-2.0

extension Protocol {
    /// A weak property is set to another object, whose owner releases the one before. The count of
    /// references is the Swift runtime's: its release is a release, its load for a weak reference
    /// relaxed.
    static let weakReferents: [Test] = [
        Test(
            "weak referent",
            claim: "who finds that a replaced referent has died finds the version that has replaced it (P12)",
            given: ["isDead": 1],
            [
                Test.Thread(
                    "owner",
                    [.store("version", 1, .relaxed), .store("isDead", 1, .releasing)]
                ),
                Test.Thread(
                    "reader",
                    [
                        .load("isDead", .relaxed, into: "isDead"),
                        .fence(.acquiring)
                            .at("Property/WeakObserved.swift", "atomicMemoryFence(ordering: .acquiring)"),
                        .load("version", .relaxed, into: "version"),
                    ]
                ),
            ],
            never: { $0["version"] != 1 }
        )
    ]
}
