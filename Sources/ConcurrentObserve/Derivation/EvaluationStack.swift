// SPDX-License-Identifier: Apache-2.0

/// The evaluations on one thread's stack, and what they collect in: how a derived value that needs itself is found, and why an evaluation
/// allocates nothing. (P25)
///
/// Made on the first evaluation of a thread's record, and never freed, as the record.
internal final class EvaluationStack {
    private var collectors: [Collector] = []
    private var depth = 0

    /// That of the calling thread.
    static var current: EvaluationStack {
        // Safe: records and stacks are never freed.
        let record = unsafe ThreadRecord.current
        if let stack = unsafe record.pointee.evaluation {
            return unsafe Unmanaged<EvaluationStack>.fromOpaque(stack).takeUnretainedValue()
        }
        let stack = EvaluationStack()
        unsafe record.pointee.evaluation = UnsafeRawPointer(Unmanaged.passRetained(stack).toOpaque())
        return stack
    }

    /// Begins an evaluation of `derived`, unless the thread is in one already: that traps.
    func enter(_ derived: any DerivationNode, _ place: DerivationPlace) -> Collector {
        let address = UInt(bitPattern: ObjectIdentifier(derived))
        if isInside(address) { trapCycle(address, place) }
        if depth == collectors.count { collectors.append(Collector()) }
        let collector = collectors[depth]
        depth += 1
        collector.take(address, place)
        return collector
    }

    func leave() {
        depth -= 1
        collectors[depth].clear()
    }

    /// Whether the thread evaluates the derived value at an address.
    func isInside(_ derived: UInt) -> Bool {
        for index in 0..<depth where collectors[index].state.derived == derived { return true }
        return false
    }

    /// Ends the process, with the path from the derived value to itself.
    private func trapCycle(_ derived: UInt, _ place: DerivationPlace) -> Never {
        let first = (0..<depth).first { collectors[$0].state.derived == derived } ?? 0
        let path = (first..<depth).map { collectors[$0].state.place.text } + [place.text]
        let text = path.joined(separator: " → ")
        fatalError(
            "ConcurrentObserve: a derived value needs itself: \(text). Have one of them read something else, or keep what it needs of itself in a property."
        )
    }
}
