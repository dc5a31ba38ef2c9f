// SPDX-License-Identifier: Apache-2.0

/// A target that tests are judged for: a memory model, and how the compiler writes the orderings
/// for it.
public enum Target: String, CaseIterable, Sendable {
    /// Arm's model with `LDAR` and pairs of exclusives, as LLVM compiles for ARMv8.0.
    case armv80 = "ARMv8.0"
    /// With the atomic instructions of ARMv8.1.
    case armv81 = "ARMv8.1"
    /// And with `LDAPR` for acquiring loads, as LLVM compiles for ARMv8.3.
    case armv83 = "ARMv8.3"
    case x86 = "x86-TSO"
    case rc11 = "RC11"

    /// A test of instructions, which says itself which they are.
    public static let instructions = Target.armv81

    /// The instruction that the compiler writes.
    func lower(_ instruction: Instruction) -> Instruction {
        guard instruction.marks == nil, instruction.barrier == nil else { return instruction }
        return instruction.with {
            switch self {
            case .rc11: return
            case .x86:
                ($0.marks, $0.barrier) = (markx86($0), $0.order == .sequentiallyConsistent ? .full : Barrier.none)
            case .armv80, .armv81, .armv83: ($0.marks, $0.barrier) = (markArm($0), barrierOfArm($0.order))
            }
        }
    }

    private func markArm(_ instruction: Instruction) -> Marks {
        let order = instruction.order
        switch instruction.kind {
        case .load:
            if order == .acquiring, self == .armv83 { return .acquirePC }
            return order.acquires ? .acquire : []
        case .store: return order.releases ? .release : []
        case .update:
            var marks: Marks = self == .armv80 ? .exclusive : []
            if order.acquires { marks.insert(.acquire) }
            if order.releases { marks.insert(.release) }
            return marks
        default: return []
        }
    }

    private func barrierOfArm(_ order: Order) -> Barrier {
        switch order {
        case .relaxed: .none
        case .acquiring: .load
        case .releasing, .acquiringAndReleasing, .sequentiallyConsistent: .full
        }
    }

    private func markx86(_ instruction: Instruction) -> Marks {
        switch instruction.kind {
        case .update: .locked
        case .store where instruction.order == .sequentiallyConsistent: .locked
        default: []
        }
    }
}
