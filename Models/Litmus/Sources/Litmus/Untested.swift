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
            "Reclamation/Barriers.swift",
            "atomicMemoryFence(ordering: .sequentiallyConsistent)",
            after: "static func fullFence(",
            "the light side without membarrier: the fence in every test's twin"
        ),
        Untested(
            "Reclamation/Barriers.swift",
            "atomicMemoryFence(ordering: .sequentiallyConsistent)",
            after: "static func heavy() {",
            "the heavy side without membarrier: the fence in every test's twin"
        ),
        Untested(
            "Reclamation/EventCount.swift",
            "unsafe signals.pointee.load(ordering: .sequentiallyConsistent) != ticket.signals",
            "a look of the explorer's, which runs one thread at a time"
        ),
        Untested(
            "Reclamation/ForkGate.swift",
            "wait(for: \"gate opens\", opening) { !isClosed.load(ordering: .acquiring) }",
            "a wait, after which the passer begins anew: relaxed would do"
        ),
        Untested(
            "Reclamation/Reclaimer.swift",
            "thread.load(ordering: .acquiring) == .running",
            "nothing is read because of it: relaxed would do"
        ),
        Untested(
            "Reclamation/Reclaimer.swift",
            "thread.compareExchange(expected: .none, desired: .starting, ordering: .acquiringAndReleasing)",
            "one thread starts the reclaimer, and needs nothing from the others: relaxed would do"
        ),
        Untested(
            "Reclamation/Reclaimer.swift",
            "thread.store(isStarted ? .running : .none, ordering: .releasing)",
            "the next thread that retires tries again, and needs nothing from this one: relaxed would do"
        ),
        Untested(
            "Registry/Observer.swift",
            "ObserverState.finished, ordering: .releasing",
            after: "final override func forsake()",
            "the child of a fork has one thread"
        ),
        Untested(
            "Registry/ObserverList+Walk.swift",
            "unsafe record.inlineFrames.pointee.pin.store(0, ordering: .releasing)",
            "a seeded bug"
        ),
        Untested(
            "Registry/ObserverList+Walk.swift",
            "unsafe frame.pointee.current.store(0, ordering: .releasing)",
            "a seeded bug"
        ),
        Untested(
            "Registry/ObserverTable.swift",
            "unsafe contents.pointee.count.store(count + 1, ordering: .releasing)",
            "a seeded bug"
        ),
        Untested("Registry/RegistryCore.swift", "unsafe head?.pointee.store(0, ordering: .releasing)", "a seeded bug"),
    ]
}
