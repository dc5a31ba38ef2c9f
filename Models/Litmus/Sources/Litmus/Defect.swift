// SPDX-License-Identifier: Apache-2.0

/// A defect that the library had: the checker finds it when the code's old orderings are put back.
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
            name: "the reclaimer loads the list of records with acquire before it parks",
            test: Protocol.relaxing("park and a new record", "records", to: .acquiring),
            found: [.armv83, .rc11]
        ),
    ]
}

extension Protocol {
    /// A test in which the loads of a location have another ordering.
    fileprivate static func relaxing(_ name: String, _ location: String, to order: Order) -> Test {
        all.first { $0.name == name }!.mapInstructions { instruction in
            guard instruction.kind == .load, instruction.location == location else { return instruction }
            return instruction.with { $0.order = order }
        }
    }
}
