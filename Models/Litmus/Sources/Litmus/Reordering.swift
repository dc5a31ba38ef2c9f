// SPDX-License-Identifier: Apache-2.0

/// The orders in which a compiler may write the instructions of a thread.
///
/// RC11 allows for compilers by itself. `membarrier` does not: its barrier is at a point of the
/// compiled program. So a test with membarrier is tried in every order that C11 lets a compiler
/// choose.
enum Reordering {
    static func orders(of instructions: [Instruction]) -> [[Instruction]] {
        var found: [[Instruction]] = []
        func extend(_ prefix: [Instruction], _ rest: [Instruction]) {
            if rest.isEmpty { return found.append(prefix) }
            for index in rest.indices where rest[..<index].allSatisfy({ mayFollow($0, insteadOf: rest[index]) }) {
                var others = rest
                let next = others.remove(at: index)
                extend(prefix + [next], others)
            }
        }
        extend([], instructions)
        return found
    }

    /// Whether `earlier` may be executed after `later`, which follows it in the source.
    private static func mayFollow(_ earlier: Instruction, insteadOf later: Instruction) -> Bool {
        guard earlier.isAccess, later.isAccess, earlier.location != later.location else { return false }
        if earlier.kind != .store, earlier.order.acquires { return false }
        if later.kind != .load, later.order.releases { return false }
        if earlier.order == .sequentiallyConsistent, later.order == .sequentiallyConsistent { return false }
        guard let register = earlier.into else { return true }
        return !later.uses(register)
    }
}

extension Instruction {
    var isAccess: Bool {
        switch kind {
        case .load, .store, .update: true
        case .fence, .compilerBarrier, .membarrier, .branch: false
        }
    }

    func uses(_ register: String) -> Bool {
        if (address + data + pickedAddress + pickedData).contains(register) { return true }
        if case .register(register, _) = value { return true }
        if case .update(.compareExchange(.register(register, _))) = kind { return true }
        return false
    }
}
