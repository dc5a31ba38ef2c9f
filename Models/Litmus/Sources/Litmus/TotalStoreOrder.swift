// SPDX-License-Identifier: Apache-2.0

/// x86: stores go through a first-in-first-out buffer, and a thread reads its own early.
///
/// After Owens, Sarkar and Sewell, "A Better x86 Memory Model: x86-TSO" (2009), in the form of
/// Alglave's axioms.
enum TotalStoreOrder {
    static func allows(_ execution: Execution) -> Bool {
        let all = Relations(execution)
        guard all.isCoherent, all.isAtomic else { return false }
        let (po, reads, writes) = (all.po, all.reads, all.writes)
        let locked = all.members { $0.marks.contains(.locked) }
        let full = all.members { $0.barrier == .full }
        let preserved =
            po.from(reads, to: reads) | po.from(all.accesses, to: writes)
            | po.from(writes & locked, to: reads) | po.from(writes, to: reads & locked)
            | po.from(all.accesses | full, to: full) | po.from(full, to: all.accesses | full)
        return (preserved | (all.rf & all.external) | all.co | all.fr | all.crossing).isAcyclic
    }
}
