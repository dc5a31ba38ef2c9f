// SPDX-License-Identifier: Apache-2.0

/// One candidate execution: which write each read reads from, and in which order the writes of each
/// location come.
struct Execution {
    let graph: EventGraph
    /// The events of the graph, then a barrier for each point that membarrier has chosen.
    var events: [Event]
    /// Orders that membarrier adds: from a barrier to another, on different threads.
    var crossing: [(Int, Int)] = []
    var readsFrom: [Int: Int]
    /// Where a write stands among those of its location; the first value is 0.
    var rank: [Int: Int]

    init(_ graph: EventGraph, readsFrom: [Int: Int], rank: [Int: Int]) {
        (self.graph, self.readsFrom, self.rank) = (graph, readsFrom, rank)
        events = graph.events
    }
}

/// The relations that every model starts from.
struct Relations {
    let count: Int
    let reads, writes, accesses, barriers: Relation.Members
    /// Program order, also where an access is to the same location.
    let po, poLoc: Relation
    let sameLocation, external: Relation
    let rf, co, fr: Relation
    let rmw: Relation
    /// From barrier to barrier, by membarrier.
    let crossing: Relation
    let events: [Event]

    init(_ execution: Execution) {
        let events = execution.events
        let count = events.count
        func members(_ holds: (Event) -> Bool) -> Relation.Members {
            events.indices.reduce(0) { $0 | (holds(events[$1]) ? 1 << UInt64($1) : 0) }
        }
        self.events = events
        self.count = count
        reads = members { $0.kind == .read }
        writes = members { $0.kind == .write }
        barriers = members { $0.kind == .barrier }
        accesses = reads | writes
        po = Relation(count) { a, b in
            events[a].thread == events[b].thread && !events[a].isInitial && events[a].position < events[b].position
        }
        sameLocation = Relation(count) { a, b in
            events[a].kind != .barrier && events[b].kind != .barrier && events[a].location == events[b].location
        }
        poLoc = po & sameLocation
        external = Relation(count) { a, b in events[a].thread != events[b].thread }
        var rf = Relation(count)
        for (read, write) in execution.readsFrom { rf.insert(write, read) }
        self.rf = rf
        var co = Relation(count)
        for (a, first) in execution.rank {
            for (b, second) in execution.rank where events[a].location == events[b].location && first < second {
                co.insert(a, b)
            }
        }
        self.co = co
        fr = rf.inverse * co
        var rmw = Relation(count)
        for update in execution.graph.updates { rmw.insert(update.read, update.write) }
        self.rmw = rmw
        var crossing = Relation(count)
        for (a, b) in execution.crossing { crossing.insert(a, b) }
        self.crossing = crossing
    }

    func members(_ holds: (Event) -> Bool) -> Relation.Members {
        events.indices.reduce(0) { $0 | (holds(events[$1]) ? 1 << UInt64($1) : 0) }
    }

    /// Coherence of each location.
    var isCoherent: Bool { (poLoc | rf | co | fr).isAcyclic }

    /// No write comes between the read and the write of an update.
    var isAtomic: Bool { (rmw & ((fr & external) * (co & external))).isEmpty }
}
