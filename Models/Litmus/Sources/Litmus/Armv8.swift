// SPDX-License-Identifier: Apache-2.0

/// Arm's model for normal memory, without translation, tags, instruction fetch and mixed sizes.
///
/// After `aarch64.cat` of herdtools7 by Deacon, Alglave, Nikoleris and Khyzha: an execution is
/// allowed if each location is coherent, updates are atomic, and "ordered before" has no cycle. The
/// names are those of section B2.3 of the Arm Architecture Reference Manual.
enum Armv8 {
    static func allows(_ execution: Execution) -> Bool {
        let all = Relations(execution)
        guard all.isCoherent, all.isAtomic else { return false }
        return (locallyOrderedBefore(all, execution) | observedBy(all) | all.crossing).isAcyclic
    }

    private static func observedBy(_ all: Relations) -> Relation { (all.rf | all.co | all.fr) & all.external }

    private static func locallyOrderedBefore(_ all: Relations, _ execution: Execution) -> Relation {
        let (po, reads, writes) = (all.po, all.reads, all.writes)
        let acquiring = all.members { $0.kind == .read && $0.marks.contains(.acquire) && !$0.marks.contains(.noReturn) }
        let acquiringPC = all.members { $0.kind == .read && $0.marks.contains(.acquirePC) }
        let releasing = all.members { $0.kind == .write && $0.marks.contains(.release) }

        // Dependencies.
        func depends(_ kind: EventGraph.Dependency) -> Relation { execution.graph.relation(kind, count: all.count) }
        let (address, data, control) = (depends(.address), depends(.data), depends(.control))
        let pick = depends(.pickedAddress) | depends(.pickedData)
        // From a write to the reads of the same thread that find nothing written in between.
        let intervening = all.poLoc.from(to: writes) * all.poLoc
        let localRead = (all.poLoc - intervening).from(writes, to: reads)
        let dependency =
            address | data | control.from(to: writes) | (address * po).from(to: writes)
            | ((address | data).from(to: writes) * localRead)
        let picked =
            depends(.pickedData) | depends(.pickedAddress).from(to: writes)
            | (depends(.pickedAddress) * po).from(to: writes)

        // Updates.
        let atomic = all.rmw | (all.rmw * localRead).from(to: acquiring | acquiringPC)
        let ordered = all.rmw.from(
            acquiring,
            to: all.members { $0.kind == .write && $0.marks.contains(.release) && !$0.marks.contains(.exclusive) }
        )
        let rangeOfOrdered = ordered.rows.reduce(0, |)

        // Barriers are members of the relation: what is before one comes before what is after it.
        let returning = all.members { $0.kind == .read && !$0.marks.contains(.noReturn) }
        let (full, load, store) = (
            all.members { $0.barrier == .full }, all.members { $0.barrier == .load },
            all.members { $0.barrier == .store }
        )
        let barrier =
            po.from(all.accesses | full, to: full) | po.from(full, to: all.accesses | full)
            | po.from(returning, to: load) * po.from(load, to: all.accesses)
            | po.from(writes, to: store) * po.from(store, to: writes)
            | po.from(rangeOfOrdered, to: all.accesses) | po.from(releasing, to: acquiring)
            | po.from(acquiring | acquiringPC, to: all.accesses) | po.from(all.accesses, to: releasing)

        // A write after an access to the same location; a read before one that is overwritten from
        // elsewhere.
        let local = all.poLoc.from(to: writes)
        let hazard = all.poLoc.from(reads, to: reads) * (all.fr & all.external)

        let before = dependency | picked | atomic | barrier | local
        let throughPick = (pick * before.transitiveClosure).from(to: writes)
        return before | throughPick | hazard
    }
}
