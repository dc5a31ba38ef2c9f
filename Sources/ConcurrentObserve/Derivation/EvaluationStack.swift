// SPDX-License-Identifier: Apache-2.0

/// The evaluations on one thread's stack, and their collectors. It finds a *ring*: derived values
/// that need each other, or one that needs itself. It keeps the collectors, so that an evaluation
/// allocates nothing. (P25)
///
/// A thread's record gets its stack at the first evaluation. Like the record, the stack is never
/// freed.
@safe internal struct EvaluationStack {
    private let memory: UnsafeMutablePointer<State>

    @safe private struct State {
        /// The collectors are never released. Their number is the largest number of evaluations
        /// that were nested so far.
        var collectors: [Unmanaged<Collector>] = unsafe []
        var depth = 0
    }

    /// The stack of the calling thread.
    static var current: EvaluationStack {
        // Safe: records and stacks are never freed.
        let record = unsafe ThreadRecord.current
        let memory = unsafe record.pointee.evaluation ?? make(record)
        return unsafe EvaluationStack(
            memory: UnsafeMutableRawPointer(mutating: memory).assumingMemoryBound(to: State.self)
        )
    }

    @inline(never)
    private static func make(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeRawPointer {
        let memory = UnsafeMutablePointer<State>.allocate(capacity: 1)
        unsafe memory.initialize(to: State())
        unsafe record.pointee.evaluation = UnsafeRawPointer(memory)
        return UnsafeRawPointer(memory)
    }

    // Safe, both: never freed; only the calling thread uses them.
    private var depth: Int { unsafe memory.pointee.depth }

    func collector(_ index: Int) -> Collector {
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { $0 }
    }

    /// Runs an evaluation of `derived`: calls `body` with a collector. Traps if there is a ring
    /// that no member can report. There is a ring if the thread already evaluates `derived`, and
    /// all values read on the way back to it were present together.
    ///
    /// - Parameters:
    ///   - isOnCopies: Whether a function that runs on copies reads `derived`, so that `derived` is
    ///     evaluated on the same copies.
    ///   - reader: The collector of the function that reads `derived`, if it can take an answer
    ///     that is not published.
    /// - Returns: The evaluation that `body` returns. If a ring is reported, the unpublished result
    ///   for the reader.
    @inline(__always)
    func perform(
        _ derived: DerivationNode,
        isOnCopies: Bool = false,
        for reader: Collector? = nil,
        _ body: (Collector) -> Present
    ) -> Present {
        let (address, index) = (derived.address, depth)
        // Safe, all: never freed; only the calling thread uses it.
        if unsafe index == memory.pointee.collectors.count {
            unsafe memory.pointee.collectors.append(.passRetained(Collector()))
        }
        if isInside(address), let result = enterAgain(derived, isOnCopies, reader) {
            return Present(unpublished: result)
        }
        unsafe memory.pointee.depth = index + 1
        var present = Present.none
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { collector in
            collector.state.derived = address
            (collector.state.place, collector.state.level) = (derived.place, index)
            collector.state.hasReader = reader != nil
            present = body(collector)
            if collector.state.failures > 0 { passOn(collector.state.failures, below: index) }
            collector.clear()
        }
        unsafe memory.pointee.depth = index
        return present
    }

    /// Raises the outer evaluation's number of failures to the inner one's. Otherwise the retries
    /// would multiply with every level.
    @inline(never)
    private func passOn(_ failures: Int, below index: Int) {
        guard index > 0 else { return }
        let outer = collector(index - 1)
        outer.state.failures = max(outer.state.failures, failures)
    }

    /// Whether the thread is evaluating any derived value.
    var isEvaluating: Bool { depth > 0 }

    /// Whether the thread evaluates the derived value at the address `derived`.
    @inline(__always)
    func isInside(_ derived: UInt) -> Bool {
        // Safe: as above.
        for index in 0..<depth
        where unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef({ $0.state.derived }) == derived {
            return true
        }
        return false
    }

    /// Decides how to go on when the thread already evaluates `node`. Traps if the derived value
    /// needs itself. Returns the result for the reader if a ring is reported: then nothing is
    /// evaluated. Returns nil if the derived value must be evaluated once more, inside itself.
    ///
    /// If the values read on the way back were not present together, there may be no ring: the
    /// functions have read a source at different times. The inner evaluation then runs on copies,
    /// where a way back is a ring. The outer one discards what it has read, as always when the
    /// values were not present together. (P23)
    @inline(never)
    private func enterAgain(
        _ node: DerivationNode,
        _ isOnCopies: Bool,
        _ reader: Collector?
    ) -> CopiedResult? {
        let derived = node.address
        let inside = levels(of: derived)
        guard let last = inside.last else { return nil }
        // The way: the evaluations from the last one of `node` to the function that reads it again.
        // They are of the same copies if each runs on the copies of that function.
        let (way, copies) = ((last..<depth).map(collector), collector(depth - 1).state.copies)
        let isOfSame = isOnCopies && way.allSatisfy { $0.state.copies === copies }
        // A source that cannot be copied, such as a group, may lead back each time.
        if inside.count >= Self.mostMixtures { trapCycle(way, node.place) }
        if isRing(way, isOfSame) {
            // The same member has the error, whichever is read first. If `node` is another one, it
            // is evaluated once more, until the way reaches the member that has the error.
            guard let head = RingPart.head(of: way), let reader else { trapCycle(way, node.place) }
            if head != derived { return nil }
            return reader.close(way, DerivedCycle(way.map { $0.state.place.text }), node)
        }
        // Makes new copies of what the evaluations on the way have read, unless only some of these
        // ran on the reader's copies: then the inner evaluation runs on the same copies. If all
        // did, a source had changed before it was copied, so new copies are needed.
        if !isOnCopies || isOfSame { collector(depth).copyWhat(way) }
        return nil
    }

    /// The levels at which the thread evaluates the derived value at the address `derived`, the
    /// outermost first.
    func levels(of derived: UInt) -> [Int] { (0..<depth).filter { collector($0).state.derived == derived } }

    /// Whether all values read on a way from a derived value back to itself were present together.
    private func isRing(_ way: [Collector], _ isOfSameCopies: Bool) -> Bool {
        // Each version was present from its read until now, or all were present when they were
        // copied.
        return way.allSatisfy(\.isCurrent) || isOfSameCopies && way.allSatisfy(\.isOfCopies)
    }

    /// If a derived value is evaluated inside itself this number of times, the library takes it for
    /// a ring, and not for chance.
    private static var mostMixtures: Int { 64 }

    /// Traps, with the path from the derived value to itself in the message.
    private func trapCycle(_ way: [Collector], _ place: DerivationPlace) -> Never {
        let path = way.map { $0.state.place.text } + [place.text]
        let text = path.joined(separator: " → ")
        fatalError(
            "ConcurrentObserve: a derived value needs itself: \(text). Have one of them read something else, or keep what it needs of itself in a property."
        )
    }
}
