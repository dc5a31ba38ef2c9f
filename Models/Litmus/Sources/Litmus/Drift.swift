// SPDX-License-Identifier: Apache-2.0

/// Compares the orderings of the code with those of the tests, both ways.
public enum Drift {
    /// The differences: a step whose line is not there, or says another ordering, and an ordering
    /// of the code that is in no test.
    public static func problems(in tree: SourceTree, tests: [Test] = Protocol.all, untested: [Untested] = Untested.all)
        -> [Problem]
    {
        var problems: [Problem] = []
        var known: Set<SourceTree.Place> = []
        for test in tests {
            for instruction in test.threads.flatMap(\.instructions) {
                guard let site = instruction.site else { continue }
                do {
                    let found = try tree.ordering(at: site)
                    guard let expected = instruction.writtenOrder else { continue }
                    known.insert(found.place)
                    if found.order != expected {
                        problems.append(
                            Problem(
                                "\(found.place): \(found.order ?? "no ordering"), but \(expected) in the test “\(test.name)”"
                            )
                        )
                    }
                } catch { problems.append(error) }
            }
        }
        for entry in untested {
            do { known.insert(try tree.ordering(at: entry.site).place) } catch { problems.append(error) }
        }
        for found in tree.strongOrderings where !known.contains(found.place) {
            problems.append(Problem("\(found.place): \(found.order), in no test: \(found.text)"))
        }
        return problems.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension Instruction {
    /// The ordering that the source must name; nil for barriers without an ordering.
    fileprivate var writtenOrder: String? {
        switch kind {
        case .load, .store, .update, .fence: order.rawValue
        case .compilerBarrier, .membarrier, .branch: nil
        }
    }
}
