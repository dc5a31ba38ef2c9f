// SPDX-License-Identifier: Apache-2.0

/// How an evaluation takes part in a ring that is reported. (P25)
///
/// The way from a derived value back to itself is on the thread's stack. One of the values that can report the ring is its head. Where
/// the head is read again, the reader receives the error as the head's value; it has then read all that led there. The
/// evaluations above the head go on, and compute from the error. Their results depend on an evaluation that has not ended: they are
/// handed to their readers, and are not published. At last the head's function returns, and the head's result is the error.
internal final class RingPart {
    /// The error that the evaluated value has: it is the head.
    var cycle: DerivedCycle?
    /// Whether the function need not run.
    var isGiven = false
    /// The lowest evaluation on the stack, by its level, on whose answer this one depends.
    var lowest = Int.max
    /// What a derived value has answered that this one reads, kept until the next answer.
    var answer: CopiedResult?
    /// The one before, which keeps the words that were read last.
    var kept: CopiedResult?

    /// The member of a ring that has the error, by its address; nil if none can have it, or if a member has a reader that cannot take an
    /// answer.
    static func head(of way: [Collector]) -> UInt? {
        guard way.dropFirst().allSatisfy({ $0.state.hasReader }) else { return nil }
        return way.filter { $0.state.place.reportsRings }.map { $0.state.derived }.min()
    }
}

extension Collector {
    /// The error, where it is known before the function runs.
    @usableFromInline var givenCycle: DerivedCycle? { state.ring.flatMap { $0.isGiven ? $0.cycle : nil } }

    /// The error, where the function has run into a ring whose head it is.
    @usableFromInline var foundCycle: DerivedCycle? { state.ring?.cycle }

    /// Whether the result depends on an evaluation further down, which has not ended. It is not published. The head's result does not.
    var isInsideRing: Bool {
        guard let ring = state.ring else { return false }
        return ring.lowest < state.level
    }

    /// Closes a ring: this function reads the head, which is being evaluated further down.
    func close(_ way: [Collector], _ cycle: DerivedCycle, _ head: any DerivationNode) {
        leaveSet()
        for collector in way where collector !== self { collector.copyReads(to: self) }
        for collector in way.dropFirst() { collector.enterRing(way[0].state.level) }
        let ring = way[0].state.ring ?? RingPart()
        way[0].state.ring = ring
        ring.cycle = cycle
        let given = Collector()
        given.give(cycle)
        head.run(given)
        if way[0] !== self { enterRing(way[0].state.level) } else { ring.lowest = min(ring.lowest, state.level) }
        state.ring!.answer = CopiedResult(head, given)
    }

    /// Has the function return an error without a run.
    private func give(_ cycle: DerivedCycle) {
        begin(after: .none, watch: nil)
        let ring = RingPart()
        (ring.cycle, ring.isGiven) = (cycle, true)
        state.ring = ring
    }

    /// Notes in another collector what was read so far.
    private func copyReads(to other: Collector) {
        leaveSet()
        let read = state.collected
        for (index, address) in read.addresses.enumerated() {
            other.add(address, state.versions[index], .copied(read.origins[index].root))
        }
        for (source, version) in zip(read.others, read.otherVersions) { other.note(source, version) }
        if state.isTorn { other.state.isTorn = true }
    }

    /// The result depends on the evaluation at a level: it is not compared with a published one.
    func enterRing(_ level: Int) {
        let ring = state.ring ?? RingPart()
        state.ring = ring
        ring.lowest = min(ring.lowest, level)
        if isInsideRing { outcome.hasBefore = false }
    }

    /// The function runs again.
    @inline(never)
    func leaveRing() {
        state.ring = nil
        outcome.hasBefore = state.base != nil
    }

    /// Takes the result of an evaluation inside this one, which is not published.
    func answer(_ result: CopiedResult) {
        enterRing(result.lowest)
        state.ring!.answer = result
    }

    /// Reads the answer. The words are kept until the next one.
    func takeAnswer() -> Latch.Words {
        leaveSet()
        let answer = state.ring!.answer!
        (state.ring!.answer, state.ring!.kept) = (nil, answer)
        return note(answer)
    }

    /// Ends an evaluation whose function always changes what it reads: the result is an error, for what is there now. Returns whether
    /// that was there together.
    func report(after base: borrowing Present, _ derived: any DerivationNode) -> Bool {
        leaveSet()
        let roots = state.collected.origins.map(\.root)
        endWatch()
        begin(after: base, watch: nil)
        for root in roots {
            guard let source = root.source else { continue }
            note(source, SourceSet.version(at: source.versionAddress))
        }
        let ring = RingPart()
        (ring.cycle, ring.isGiven) = (DerivedCycle([state.place.text]), true)
        state.ring = ring
        derived.run(self)
        return isConsistent
    }
}
