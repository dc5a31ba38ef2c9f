// SPDX-License-Identifier: Apache-2.0

/// A test of AArch64 instructions with the verdict that herdtools7 publishes for it
/// (`catalogue/aarch64/tests/kinds.txt`).
///
/// The tests are restated in our notation: `ldar`, `stlr`, `swp` and so on are the instructions;
/// what computes an address or a value without changing it is a dependency.
public struct PublishedTest: Sendable {
    public let name: String
    public let isAllowed: Bool
    public let test: Test

    static func allowed(_ test: Test) -> PublishedTest {
        PublishedTest(name: test.name, isAllowed: true, test: test)
    }

    static func forbidden(_ test: Test) -> PublishedTest {
        PublishedTest(name: test.name, isAllowed: false, test: test)
    }

    /// The tests that the notation cannot express, with the reason.
    public static let unsupported: [(names: [String], reason: String)] = [
        (
            [
                "LB+rel+CAS-ok-RsRs-addr", "LB+rel+CAS-ok-MRs-addr", "MP+rel+CAS-ok-RsRs-addr",
                "MP+rel+CAS-ok-MRs-addr",
                "MP+rel+CAS-ok-bothRs-addr",
            ],
            "they depend on the register that a successful CAS both compares and returns, of which the model leaves open where it comes from"
        )
    ]
}

// MARK: - Instructions

/// A thread of a published test.
func P(_ number: Int, _ instructions: Instruction...) -> Test.Thread { Test.Thread("P\(number)", instructions) }

func ldr(_ location: String, _ register: String, address: [String] = []) -> Instruction {
    .load(location, .relaxed, into: register, address: address).with { $0.marks = [] }
}
func ldar(_ location: String, _ register: String) -> Instruction {
    ldr(location, register).with { $0.marks = .acquire }
}
func ldapr(_ location: String, _ register: String) -> Instruction {
    ldr(location, register).with { $0.marks = .acquirePC }
}
func str(_ location: String, _ value: Value, data: [String] = [], address: [String] = []) -> Instruction {
    .store(location, value, .relaxed, address: address).with { ($0.marks, $0.data) = ([], data) }
}
func stlr(_ location: String, _ value: Value) -> Instruction { str(location, value).with { $0.marks = .release } }
func swp(_ location: String, _ value: Value, _ register: String? = nil, _ marks: Marks = [], data: [String] = [])
    -> Instruction
{
    .exchange(location, value, .relaxed, into: register).with { ($0.marks, $0.data) = (marks, data) }
}
func cas(
    _ location: String,
    _ expected: Value,
    _ desired: Value,
    _ marks: Marks = [],
    data: [String] = [],
    pickedData: [String] = []
) -> Instruction {
    .compareExchange(location, expected, desired, .relaxed).with {
        ($0.marks, $0.data, $0.pickedData) = (marks, data, pickedData)
    }
}
func ldadd(_ location: String, _ value: Value, _ marks: Marks = [], data: [String] = []) -> Instruction {
    .update(location, .add, value, .relaxed).with { ($0.marks, $0.data) = (marks, data) }
}
func dmb(_ barrier: Barrier) -> Instruction { .fence(.relaxed).with { $0.barrier = barrier } }
func branch(_ register: String) -> Instruction { .branch(register) }
