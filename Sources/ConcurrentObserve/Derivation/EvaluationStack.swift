// SPDX-License-Identifier: Apache-2.0

import Synchronization

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
        /// The cascade that causes the evaluations; 0 if there is none. See
        /// `DerivedObservation.settleElsewhere`.
        var cascade: UInt64 = 0
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

    private func collector(_ index: Int) -> Collector {
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { $0 }
    }

    /// Runs an evaluation of `derived`: calls `body` with a collector. Traps if there is a ring
    /// that no member can report. There is a ring if the thread already evaluates `derived`, and
    /// all values read on the way back to it were present together.
    ///
    /// - Parameters:
    ///   - isOnCopies: Whether a function that runs on copies reads `derived`, so that `derived` is
    ///     evaluated on the same copies.
    ///   - hasReader: Whether the function of another derived value reads `derived` with its
    ///     `Reader`.
    /// - Returns: The evaluation that `body` returns. If `derived` is the head of a ring (see
    ///   `Rings.swift`), an unpublished result: the error.
    @inline(__always)
    func perform(
        _ derived: DerivationNode,
        isOnCopies: Bool = false,
        hasReader: Bool = false,
        _ body: (Collector) -> Present
    ) -> Present {
        let (address, index) = (derived.address, depth)
        // Safe, all: never freed; only the calling thread uses it.
        if unsafe index == memory.pointee.collectors.count {
            unsafe memory.pointee.collectors.append(.passRetained(Collector()))
        }
        if isInside(address), let result = enterAgain(derived, isOnCopies, hasReader) {
            return Present(unpublished: result)
        }
        unsafe memory.pointee.depth = index + 1
        var present = Present.none
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { collector in
            (collector.state.derived, collector.state.place) = (address, derived.place)
            (collector.state.hasReader, collector.state.cascade) = (hasReader, 0)
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

    /// The number of cascades so far.
    private static let cascades = Atomic<UInt64>(0)

    /// Returns the cascade that the evaluations on this thread belong to. If no cascade has caused
    /// them, the outermost one begins one. Without an evaluation, returns a new cascade.
    func cascade() -> UInt64 {
        // Safe: as above.
        let present = unsafe memory.pointee.cascade
        if present != 0 { return present }
        if isEvaluating, collector(0).state.cascade != 0 { return collector(0).state.cascade }
        // Relaxed: only the number counts.
        let new = Self.cascades.add(1, ordering: .relaxed).newValue
        if isEvaluating { collector(0).state.cascade = new }
        return new
    }

    /// Calls `body`, whose evaluations belong to `cascade`.
    func perform(in cascade: UInt64, _ body: () -> Void) {
        // Safe, both: as above.
        unsafe memory.pointee.cascade = cascade
        body()
        unsafe memory.pointee.cascade = 0
    }

    /// Decides how to go on when the thread already evaluates `node`. Traps if there is a ring that
    /// no member can report. Returns the error if `node` is the head of a ring. Returns nil if
    /// `node` must be evaluated once more, inside itself.
    ///
    /// If the functions on the way do not run on the same copies, there may be no ring, because
    /// they may have read a source at different times. Then the inner evaluation runs on copies:
    /// there, a way back is a ring. The outer evaluations discard their reads, as always when the
    /// values were not present together. (P23)
    @inline(never)
    private func enterAgain(_ node: DerivationNode, _ isOnCopies: Bool, _ hasReader: Bool) -> CopiedResult? {
        let inside = (0..<depth).filter { collector($0).state.derived == node.address }
        guard let last = inside.last else { return nil }
        // The way: the evaluations from the last one of `node` to the function that reads it again.
        let (way, reader) = ((last..<depth).map(collector), collector(depth - 1))
        let isOfSame = isOnCopies && way.allSatisfy { $0.state.copies === reader.state.copies && $0.isOnLatestCopies }
        // If a member on the way has its result already, the others compute from it, and need no
        // head.
        if isOfSame, way.contains(where: { reader.state.copies!.result(of: $0.state.derived) != nil }) {
            collector(depth).state.isMixture = false
            return nil
        }
        let isRing = way.allSatisfy(\.isCurrent) || isOfSame && way.allSatisfy(\.isOfCopies)
        var head = hasReader ? DependencyCopies.head(of: way) : nil
        // A function that makes a new member in each run would never end if that were the head.
        if head != nil, inside.count >= Self.mostMixtures, node.place.reportsRings { head = node.address }
        collector(depth).state.isMixture = !(isRing && isOfSame)
        // A source that cannot be copied, such as a group, may lead back each time. Each ring that
        // shares `node` with the others leads back once.
        let mixtures = inside.dropFirst().count { collector($0).state.isMixture }
        if isRing && head == nil || mixtures >= Self.mostMixtures || inside.count >= Self.mostLevels {
            trapCycle(way, node.place)
        }
        guard isOnCopies else {
            guard hasReader, way.allSatisfy({ !$0.isOnCopies }) else {
                collector(depth).copyWhat(way)
                return nil
            }
            Collector.moveToCopies(way)
            return reader.resultOnCopies(node)
        }
        // If only some of the functions run on the reader's copies, the inner evaluation shows
        // whether there is a ring.
        guard isOfSame, let copies = reader.state.copies else { return nil }
        guard isRing else {
            // A source had changed before it was copied, so new copies are needed.
            reader.use(copies, of: way)
            return nil
        }
        // Safe: it is being evaluated, and the caller of that evaluation retains it.
        let address = unsafe UnsafeRawPointer(bitPattern: head!)!
        copies.close(way, unsafe Unmanaged.fromOpaque(address).takeUnretainedValue())
        return copies.result(of: node.address)
    }

    /// If a derived value is evaluated inside itself this number of times, and no ring is found,
    /// the library takes it for a ring, and not for chance.
    private static var mostMixtures: Int { 64 }

    /// The number of evaluations of one derived value inside each other that no stack may have room
    /// for.
    private static var mostLevels: Int { 1_000 }

    /// Traps, with the path from the derived value to itself in the message.
    private func trapCycle(_ way: [Collector], _ place: DerivationPlace) -> Never {
        let path = way.map { $0.state.place.text } + [place.text]
        let text = path.joined(separator: " → ")
        fatalError(
            "ConcurrentObserve: a derived value needs itself: \(text). Have one of them read something else, or keep what it needs of itself in a property."
        )
    }
}
