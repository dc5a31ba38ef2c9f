// SPDX-License-Identifier: Apache-2.0

/// The evaluations on one thread's stack, and what they collect in: how a derived value that needs itself is found, and
/// why an evaluation allocates nothing. (P25)
///
/// Made on the first evaluation of a thread's record, and never freed, as the record.
@safe internal struct EvaluationStack {
    private let memory: UnsafeMutablePointer<State>

    @safe private struct State {
        /// Never released. As many as evaluations were ever nested.
        var collectors: [Unmanaged<Collector>] = unsafe []
        var depth = 0
        /// How many of the evaluations are of derived values whose address has a hash: most often that says that there is none of one.
        var hashes: UnsafeMutablePointer<UInt16>

        init() {
            unsafe hashes = .allocate(capacity: EvaluationStack.hashCount)
            unsafe hashes.initialize(repeating: 0, count: EvaluationStack.hashCount)
        }
    }

    private static var hashCount: Int { 1_024 }
    private static func hash(_ derived: UInt) -> Int {
        Int(truncatingIfNeeded: (derived >> 4) ^ (derived >> 14)) & (hashCount - 1)
    }

    /// That of the calling thread.
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

    private var depth: Int { unsafe memory.pointee.depth }

    private func collector(_ index: Int) -> Collector {
        // Safe: never released.
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { $0 }
    }

    /// Runs an evaluation of `derived`. Traps if the thread is in one already, and what led back to it was present together.
    ///
    /// - Parameter isOnCopies: Whether it is for a function that runs on copies, and on these.
    @inline(__always)
    func perform(
        _ derived: any DerivationNode,
        _ place: DerivationPlace,
        isOnCopies: Bool = false,
        _ body: (Collector) -> Present
    ) -> Present {
        let address = UInt(bitPattern: ObjectIdentifier(derived))
        let index = depth
        // Safe, all: never released; the stack is the calling thread's.
        if unsafe index == memory.pointee.collectors.count {
            unsafe memory.pointee.collectors.append(.passRetained(Collector()))
        }
        if isInside(address) { enterAgain(address, place, isOnCopies) }
        let hash = unsafe memory.pointee.hashes + Self.hash(address)
        unsafe memory.pointee.depth = index + 1
        unsafe hash.pointee &+= 1
        var present = Present.none
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { collector in
            collector.take(address, place)
            present = body(collector)
            if collector.state.failures > 0 { passOn(collector.state.failures, below: index) }
            collector.clear()
        }
        unsafe hash.pointee &-= 1
        unsafe memory.pointee.depth = index
        return present
    }

    /// What an evaluation has read changes in each of its runs, and so does what the one that reads it has read: each counts the failures
    /// inside it as its own. Otherwise it would have the inner one fail as often in each of its own runs, and so on, level by level.
    @inline(never)
    private func passOn(_ failures: Int, below index: Int) {
        #if INSTRUMENTED
        if mutant(.failuresInsideAreNotCounted) { return }
        #endif
        guard index > 0 else { return }
        let outer = collector(index - 1)
        outer.state.failures = max(outer.state.failures, failures)
    }

    /// Whether the thread is in the function of a derived value.
    var isEvaluating: Bool { depth > 0 }

    /// Whether the thread evaluates the derived value at an address.
    func isInside(_ derived: UInt) -> Bool {
        // Safe: the stack is the calling thread's.
        if unsafe memory.pointee.hashes[Self.hash(derived)] == 0 { return false }
        return isAmongCollectors(derived)
    }

    @inline(never)
    private func isAmongCollectors(_ derived: UInt) -> Bool {
        for index in 0..<depth where collector(index).state.derived == derived { return true }
        return false
    }

    /// Evaluates a derived value once more, inside itself, or traps if it needs itself.
    ///
    /// If the way back is not of what was present together, there may be no ring: each function has read a source at another time. The
    /// inner evaluation then runs on copies, where a way back is a ring. The outer one discards what it has read, as every mixture. (P23)
    @inline(never)
    private func enterAgain(_ derived: UInt, _ place: DerivationPlace, _ isOnCopies: Bool) {
        let inside = (0..<depth).filter { collector($0).state.derived == derived }
        guard let last = inside.last else { return }
        let (way, copies) = ((last..<depth).map(collector), collector(depth - 1).state.copies)
        let isOfSame = isOnCopies && way.allSatisfy { $0.state.copies === copies }
        // What cannot be copied, as a group, may lead back each time.
        if isRing(way, isOfSame) || inside.count >= Self.mostMixtures { trapCycle(way, place) }
        // Unless the reader's copies are the first on the way. If all is of them, others are needed: of what has changed before it was copied.
        if !isOnCopies || isOfSame { collector(depth).copyWhat(way) }
    }

    /// Whether a way from a derived value to itself is of values that were present together.
    private func isRing(_ way: [Collector], _ isOfSameCopies: Bool) -> Bool {
        #if INSTRUMENTED
        if mutant(.aMixtureIsTakenForARing) { return true }
        #endif
        // Each version was present from its read until now, or all when they were copied.
        return way.allSatisfy(\.isPresent) || isOfSameCopies && way.allSatisfy(\.isOfCopies)
    }

    /// So many ways in a row do not lead back to a value by chance.
    private static var mostMixtures: Int { 64 }

    /// Ends the process, with the path from the derived value to itself.
    private func trapCycle(_ way: [Collector], _ place: DerivationPlace) -> Never {
        let path = way.map { $0.state.place.text } + [place.text]
        let text = path.joined(separator: " → ")
        fatalError(
            "ConcurrentObserve: a derived value needs itself: \(text). Have one of them read something else, or keep what it needs of itself in a property."
        )
    }
}
