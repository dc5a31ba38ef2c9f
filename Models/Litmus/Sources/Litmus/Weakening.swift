// SPDX-License-Identifier: Apache-2.0

/// A test with one ordering weakened by one notch.
public struct Weakening: Sendable {
    public let site: Site
    /// "acquiring → relaxed".
    public let change: String
    public let test: Test
    /// Why the code has the stronger ordering, where no test needs it.
    public let reason: String?

    /// Every weakening of the steps of a test that name their place in the code.
    public static func all(of test: Test) -> [Weakening] {
        test.threads.indices.flatMap { thread in
            test.threads[thread].instructions.indices.flatMap { index -> [Weakening] in
                let instruction = test.threads[thread].instructions[index]
                guard let site = instruction.site else { return [] }
                return instruction.notches.map { notch in
                    var weakened = test
                    weakened.threads[thread].instructions.replaceSubrange(
                        index...index,
                        with: notch.weaker.map { [$0] } ?? []
                    )
                    return Weakening(
                        site: site,
                        change: notch.change,
                        test: weakened,
                        reason: instruction.kept[notch.change]
                    )
                }
            }
        }
    }
}

extension Instruction {
    /// The weaker forms of the step; a nil form is no step at all.
    fileprivate var notches: [(change: String, weaker: Instruction?)] {
        switch kind {
        case .membarrier:
            return [
                (
                    "membarrier → a fence of the caller's",
                    with { ($0.kind, $0.order) = (.fence, .sequentiallyConsistent) }
                )
            ]
        case .compilerBarrier: return [("compiler barrier → none", nil)]
        case .branch: return []
        case .load, .store, .update, .fence:
            return weakerOrders.map { weaker in
                let change = "\(order.rawValue) → \(weaker.rawValue)"
                return kind == .fence && weaker == .relaxed ? (change, nil) : (change, with { $0.order = weaker })
            }
        }
    }

    private var weakerOrders: [Order] {
        switch (order, kind) {
        case (.relaxed, _): []
        case (.acquiring, _), (.releasing, _): [.relaxed]
        case (.acquiringAndReleasing, _): [.acquiring, .releasing]
        case (.sequentiallyConsistent, .load): [.acquiring]
        case (.sequentiallyConsistent, .store): [.releasing]
        case (.sequentiallyConsistent, _): [.acquiringAndReleasing]
        }
    }
}
