// SPDX-License-Identifier: Apache-2.0

/// A litmus test: a few straight-line threads, and an outcome that must not be.
///
/// A branch of the code is a straight line here: `given` says which values its registers had.
/// Executions with other values are other branches, and not looked at.
public struct Test: Sendable {
    public struct Thread: Sendable {
        public let name: String
        public var instructions: [Instruction]

        public init(_ name: String, _ instructions: [Instruction]) {
            self.name = name
            self.instructions = instructions
        }
    }

    public let name: String
    /// The outcome that must not be, in words.
    public let claim: String
    public var threads: [Thread]
    /// Values of locations that do not begin with 0.
    public let initially: [String: Int]
    /// Values of registers for which the outcome is judged.
    public let given: [String: Int]
    /// Locations that are not atomic in the code: in RC11 an unordered pair of accesses is a
    /// violation, too.
    public let plain: Set<String>
    /// Whether an outcome is the one that must not be.
    public let isBad: @Sendable (Outcome) -> Bool

    public init(
        _ name: String,
        claim: String = "",
        initially: [String: Int] = [:],
        given: [String: Int] = [:],
        plain: Set<String> = [],
        _ threads: [Thread],
        never isBad: @escaping @Sendable (Outcome) -> Bool
    ) {
        (self.name, self.claim, self.initially, self.given, self.plain) = (name, claim, initially, given, plain)
        (self.threads, self.isBad) = (threads, isBad)
    }
}

/// The outcome of an execution: the registers, and the locations' last values.
public struct Outcome: Sendable {
    public var registers: [String: Int] = [:]
    public var final: [String: Int] = [:]

    public subscript(_ register: String) -> Int { registers[register] ?? 0 }
}

extension Test {
    var usesMembarrier: Bool {
        threads.contains { $0.instructions.contains { $0.kind == .membarrier } }
    }

    /// This protocol without membarrier: both sides of the asymmetric barrier execute a full
    /// fence.
    public var fenced: Test {
        mapInstructions { instruction in
            switch instruction.kind {
            case .compilerBarrier, .membarrier:
                instruction.with { ($0.kind, $0.order) = (.fence, .sequentiallyConsistent) }
            default: instruction
            }
        }
    }

    func mapInstructions(_ transform: (Instruction) -> Instruction) -> Test {
        var result = self
        for thread in threads.indices {
            result.threads[thread].instructions = threads[thread].instructions.map(transform)
        }
        return result
    }
}
