// SPDX-License-Identifier: Apache-2.0

/// An ordering of the code that no test has, and why.
public struct Untested: Sendable {
    let site: Site
    let reason: String

    init(_ file: String, _ fragment: String, after: String = "", _ reason: String) {
        site = Site(file: file, fragment: fragment, after: after)
        self.reason = reason
    }

    public static let all: [Untested] = [
        Untested(
            "Derivation/DependencySet.swift",
            "unsafelyUnwrapped.pointee.load(ordering: .acquiring)",
            after: "static func word(",
            "the load of Latch.presentVersion, by an address: what the tests of the latch have"
        ),
        Untested(
            "Platform/Barriers.swift",
            "atomicMemoryFence(ordering: .sequentiallyConsistent)",
            after: "static func fullFence(",
            "the light side without membarrier: the fence in every test's twin"
        ),
        Untested(
            "Platform/Barriers.swift",
            "atomicMemoryFence(ordering: .sequentiallyConsistent)",
            after: "static func heavy() {",
            "the heavy side without membarrier: the fence in every test's twin"
        ),
        Untested(
            "Property/ChangeReceiverFactory.swift",
            "state.store(State.attached, ordering: .releasing)",
            "one release and one acquire of a word that is written once: the test of a table that is published has it"
        ),
        Untested(
            "Property/ChangeReceiverFactory.swift",
            "state.exchange(State.closed, ordering: .acquiring)",
            "one release and one acquire of a word that is written once: the test of a table that is published has it"
        ),
    ]
}
