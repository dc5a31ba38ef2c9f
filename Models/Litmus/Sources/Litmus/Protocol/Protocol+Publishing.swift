// SPDX-License-Identifier: Apache-2.0

private let contextFile = "Delivery/TaskContext.swift"
private let threadFile = "Platform/LibraryThread.swift"

extension Protocol {
    /// A flag that says that something exists: the result of a thread of the library, and the
    /// default loggers of swift-log.
    static let flags: [Test] =
        [
            flag(
                "a thread's result",
                claim: "who finds that a result is given finds the result",
                published: .store("published", 1, .releasing)
                    .at(threadFile, "given.store(true, ordering: .releasing)"),
                found: .load("published", .acquiring, into: "found")
                    .at(threadFile, "given.load(ordering: .acquiring)")
            )
        ]
        + [
            ("an event", "guard isPrepared.load(ordering: .acquiring)"),
            ("a mailbox", "if isPrepared.load(ordering: .acquiring) || isPreparing"),
        ].map { name, load in
            flag(
                "default loggers, \(name)",
                claim: "who finds the loggers prepared does not wait for the program's factory (P5)",
                published: .store("published", 1, .releasing)
                    .at(contextFile, "isPrepared.store(true, ordering: .releasing)"),
                found: .load("published", .acquiring, into: "found").at(contextFile, load)
            )
        }

    private static func flag(_ name: String, claim: String, published: Instruction, found: Instruction) -> Test {
        Test(
            name,
            claim: claim,
            given: ["found": 1],
            [
                Test.Thread("writer", [.store("content", 1, .relaxed), published]),
                Test.Thread("reader", [found, .load("content", .relaxed, into: "content")]),
            ],
            never: { $0["content"] != 1 }
        )
    }
}
