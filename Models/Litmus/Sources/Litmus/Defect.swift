// SPDX-License-Identifier: Apache-2.0

/// A known defect: one that the library had, or a published one of another project in the library's
/// terms. The checker finds it when the orderings are those before the repair.
///
/// `KnownDefect` of the stress harness names these, and the projects.
public struct Defect: Sendable {
    public let name: String
    public let test: Test
    /// Where it is a violation, and where it is none.
    public let found: Set<Target>

    public static let all: [Defect] = [
        Defect(
            name: "a registration beside a body of modify loads `modifier` relaxed",
            test: Protocol.relaxing("modifier and body lock", "modifier", to: .relaxed),
            found: [.armv80, .armv81, .armv83, .rc11]
        ),
        Defect(
            name: "a cut beside a body of modify loads `modifier` relaxed",
            test: Protocol.relaxing("modifier and cut", "modifier", to: .relaxed),
            found: [.armv80, .armv81, .armv83, .rc11]
        ),
        Defect(
            name: "the reclamation thread loads the list of records with acquire before it parks",
            test: Protocol.relaxing("park and a new record", "records", to: .acquiring),
            found: [.armv83, .rc11]
        ),
        Defect(
            name: "the mark of an ended observation is stored relaxed",
            test: Protocol.weakening(
                "the mark shows the end",
                "mark.store(knownMark.ended(reason).rawValue, ordering: .releasing)",
                "releasing → relaxed"
            ),
            found: [.armv80, .armv81, .armv83, .rc11]
        ),
        Defect(
            name: "a walker loads the table with nothing that orders its entries",
            test: Protocol.weakening(
                "a table is published",
                "return head.load(ordering: .acquiring) & ~ListHints.mask",
                "acquiring → relaxed"
            ),
            found: [.rc11]
        ),
        Defect(
            name: "the count is stored relaxed behind its entry",
            test: Protocol.weakening(
                "count and entry",
                "unsafe contents.pointee.count.store(count, ordering: .releasing)",
                "releasing → relaxed"
            ),
            found: [.armv80, .armv81, .armv83, .rc11]
        ),
        Defect(
            name: "membarrier skips the walker's thread",
            test: Protocol.weakening(
                "current and tombstone",
                "return cplatform_membarrier()",
                "membarrier → a fence of the caller's"
            ),
            found: Set(Target.allCases)
        ),
        Defect(
            name: "no fence stands between the hazard pointer and the second look",
            test: Protocol.withoutFences(of: "walker", "current and tombstone"),
            found: Set(Target.allCases)
        ),
        Defect(
            name: "a retiring thread looks for a sleeper before its item can be seen",
            test: Protocol.relaxing("park and wake", of: "retirer", to: .relaxed),
            found: [.armv80, .armv81, .armv83, .rc11]
        ),
    ]
}

extension Protocol {
    private static func named(_ name: String) -> Test { all.first { $0.name == name }! }

    /// A test with one step weakened by a notch.
    fileprivate static func weakening(_ name: String, _ fragment: String, _ change: String) -> Test {
        Weakening.all(of: named(name)).first { $0.site.fragment == fragment && $0.change == change }!.test
    }

    /// A test without membarrier in which one thread lacks its fences.
    fileprivate static func withoutFences(of thread: String, _ name: String) -> Test {
        mapping(thread, in: named(name).fenced) { $0.filter { $0.kind != .fence } }
    }

    /// A test in which all accesses of one thread have another ordering.
    fileprivate static func relaxing(_ name: String, of thread: String, to order: Order) -> Test {
        mapping(thread, in: named(name)) { $0.map { access in access.with { $0.order = order } } }
    }

    private static func mapping(_ thread: String, in test: Test, _ change: ([Instruction]) -> [Instruction]) -> Test {
        var result = test
        for index in test.threads.indices where test.threads[index].name == thread {
            result.threads[index].instructions = change(test.threads[index].instructions)
        }
        return result
    }

    /// A test in which the loads of a location have another ordering.
    fileprivate static func relaxing(_ name: String, _ location: String, to order: Order) -> Test {
        named(name).mapInstructions { instruction in
            guard instruction.kind == .load, instruction.location == location else { return instruction }
            return instruction.with { $0.order = order }
        }
    }
}
