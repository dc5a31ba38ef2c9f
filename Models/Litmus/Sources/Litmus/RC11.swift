// SPDX-License-Identifier: Apache-2.0

/// The repaired C11 model: what the compiler promises, whatever the processor.
///
/// After Lahav, Vafeiadis, Kang, Hur and Dreyer, "Repairing Sequential Consistency in C/C++11"
/// (2017). `membarrier`'s barriers are sequentially consistent fences, with an order from the
/// caller's to each of them and back.
enum RC11 {
    static func allows(_ execution: Execution) -> Bool {
        let all = Relations(execution)
        let hb = happensBefore(all)
        let (sb, mo, rb) = (all.po, all.co, all.fr)
        let eco = (all.rf | mo | rb).transitiveClosure
        guard hb.isIrreflexive, (hb * eco).isIrreflexive, (all.rmw * eco).isIrreflexive else { return false }
        guard (all.rmw & (rb * mo)).isEmpty, (sb | all.rf | all.crossing).isAcyclic else { return false }

        let strong = all.members { $0.order == .sequentiallyConsistent }
        let fences = all.barriers & strong
        let elsewhere = sb - all.poLoc
        let scb = sb | (elsewhere * hb * elsewhere) | (hb & all.sameLocation) | mo | rb
        let identity = Relation(all.count, identityOn: strong)
        let fence = Relation(all.count, identityOn: fences)
        let base = (identity | fence * hb.reflexive) * scb * (identity | hb.reflexive * fence)
        let fencesApart = fence * (hb | hb * eco * hb) * fence
        return (base | fencesApart).isAcyclic
    }

    /// Whether two accesses to a plain location, one of them a write, are not ordered.
    static func hasRace(_ execution: Execution) -> Bool {
        let all = Relations(execution)
        let hb = happensBefore(all)
        let events = all.events
        for a in events.indices where !events[a].isAtomic && !events[a].isInitial {
            for b in events.indices where b != a && !events[b].isInitial && events[b].location == events[a].location {
                guard events[a].thread != events[b].thread, events[a].kind == .write || events[b].kind == .write else {
                    continue
                }
                if !hb.contains(a, b), !hb.contains(b, a) { return true }
            }
        }
        return false
    }

    private static func happensBefore(_ all: Relations) -> Relation {
        let sb = all.po
        let atomic = all.members { $0.kind != .barrier && $0.isAtomic && !$0.isInitial }
        let releasing = all.members { ($0.kind == .barrier || $0.isAtomic) && $0.order.releases && !$0.isInitial }
        let acquiring = all.members { ($0.kind == .barrier || $0.isAtomic) && $0.order.acquires }
        // The write, and the updates that follow from it. As in C++20: later stores of its thread
        // do not continue it.
        let sequence =
            Relation(all.count, identityOn: all.writes & atomic) * (all.rf * all.rmw).transitiveClosure.reflexive
        let toWrite = Relation(all.count, identityOn: releasing & ~all.barriers) | sb.from(releasing & all.barriers)
        let fromRead =
            Relation(all.count, identityOn: acquiring & ~all.barriers) | sb.from(to: acquiring & all.barriers)
        let synchronizesWith =
            (toWrite.from(to: all.writes) * sequence * all.rf.from(to: atomic) * fromRead) | all.crossing
        return (sb | synchronizesWith).transitiveClosure
    }
}
