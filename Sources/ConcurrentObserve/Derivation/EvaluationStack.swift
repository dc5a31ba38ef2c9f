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
        /// For each hash of a derived value's address the number of the last evaluation of such a value, from 1, or 0. The collector has that of
        /// the one before. As many as there are collectors, or more: a chain of any depth finds out in a few steps that it is no ring.
        var last: UnsafeMutablePointer<UInt32>
        /// How many bits of a product the hash leaves out.
        var shift: UInt

        init(hashBits: UInt) {
            shift = UInt(UInt.bitWidth) - hashBits
            unsafe last = .allocate(capacity: 1 << hashBits)
            unsafe last.initialize(repeating: 0, count: 1 << hashBits)
        }

        /// Where the number is. By the golden ratio, which spreads addresses that lie at equal distances. ("Fibonacci hashing", Knuth.)
        @inline(__always)
        func place(_ derived: UInt) -> UnsafeMutablePointer<UInt32> {
            unsafe last + Int(truncatingIfNeeded: (derived &* 0x9E37_79B9_7F4A_7C15) &>> shift)
        }
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
        unsafe memory.initialize(to: State(hashBits: 8))
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
    /// - Parameters:
    ///   - isOnCopies: Whether it is for a function that runs on copies, and on these.
    ///   - reader: What the function that reads the derived value collects in, if it can take an answer that is not published.
    /// - Returns: What `body` returns; `none` where the ring is reported: then the reader has the answer.
    @inline(__always)
    func perform(
        _ derived: any DerivationNode,
        _ place: DerivationPlace,
        isOnCopies: Bool = false,
        for reader: Collector? = nil,
        _ body: (Collector) -> Present
    ) -> Present {
        let address = UInt(bitPattern: ObjectIdentifier(derived))
        let index = depth
        // Safe, all: never released; the stack is the calling thread's.
        if unsafe index == memory.pointee.collectors.count { addCollector() }
        if isInside(address), enterAgain(derived, place, isOnCopies, reader) { return .none }
        unsafe memory.pointee.depth = index + 1
        var present = Present.none
        unsafe memory.pointee.collectors[index]._withUnsafeGuaranteedRef { collector in
            collector.take(address, place, index, hasReader: reader != nil)
            enter(collector, index)
            present = body(collector)
            if collector.state.failures > 0 { passOn(collector.state.failures, below: index) }
            collector.clear()
            unsafe memory.pointee.place(address).pointee = collector.state.before
        }
        unsafe memory.pointee.depth = index
        return present
    }

    /// Has a collector be found by its derived value's address.
    @inline(__always)
    private func enter(_ collector: Collector, _ index: Int) {
        // Safe: a hash is below the count of places.
        let place = unsafe memory.pointee.place(collector.state.derived)
        collector.state.before = unsafe place.pointee
        unsafe place.pointee = UInt32(truncatingIfNeeded: index &+ 1)
    }

    /// For one more evaluation than were ever nested.
    @inline(never)
    private func addCollector() {
        let index = depth
        unsafe memory.pointee.collectors.append(.passRetained(Collector()))
        let bits = UInt(UInt.bitWidth) - (unsafe memory.pointee.shift)
        guard index >= 1 << bits else { return }
        unsafe memory.pointee.last.deallocate()
        let larger = State(hashBits: bits + 1)
        unsafe (memory.pointee.last, memory.pointee.shift) = (larger.last, larger.shift)
        for index in 0..<index { enter(collector(index), index) }
    }

    /// What an evaluation has read changes in each of its runs, and so does what the one that reads it has read: each counts the failures
    /// inside it as its own. Otherwise it would have the inner one fail as often in each of its own runs, and so on, level by level.
    @inline(never)
    private func passOn(_ failures: Int, below index: Int) {
        guard index > 0 else { return }
        let outer = collector(index - 1)
        outer.state.failures = max(outer.state.failures, failures)
    }

    /// Whether the thread is in the function of a derived value.
    var isEvaluating: Bool { depth > 0 }

    /// Whether the thread evaluates the derived value at an address.
    @inline(__always)
    func isInside(_ derived: UInt) -> Bool {
        // Safe: the stack is the calling thread's.
        let number = unsafe memory.pointee.place(derived).pointee
        return number != 0 && isAmong(number, derived)
    }

    /// Whether an evaluation, or one before it whose value has the same hash, is of a derived value.
    @inline(never)
    private func isAmong(_ number: UInt32, _ derived: UInt) -> Bool {
        var next = number
        while next != 0 {
            let collector = collector(Int(next) - 1)
            if collector.state.derived == derived { return true }
            next = collector.state.before
        }
        return false
    }

    /// Evaluates a derived value once more, inside itself, or traps if it needs itself. Returns true where the ring is reported: then the
    /// reader has the answer, and nothing is evaluated.
    ///
    /// If the way back is not of what was present together, there may be no ring: each function has read a source at another time. The
    /// inner evaluation then runs on copies, where a way back is a ring. The outer one discards what it has read, as every mixture. (P23)
    @inline(never)
    private func enterAgain(
        _ node: any DerivationNode,
        _ place: DerivationPlace,
        _ isOnCopies: Bool,
        _ reader: Collector?
    ) -> Bool {
        let derived = UInt(bitPattern: ObjectIdentifier(node))
        let inside = (0..<depth).filter { collector($0).state.derived == derived }
        guard let last = inside.last else { return false }
        let (way, copies) = ((last..<depth).map(collector), collector(depth - 1).state.copies)
        let isOfSame = isOnCopies && way.allSatisfy { $0.state.copies === copies }
        // What cannot be copied, as a group, may lead back each time.
        if inside.count >= Self.mostMixtures { trapCycle(way, place) }
        if isRing(way, isOfSame) {
            // One member has the error, whichever is read first. Another one goes on, once more, until that is reached.
            guard let head = RingPart.head(of: way), let reader else { trapCycle(way, place) }
            if head == derived { reader.close(way, DerivedCycle(way.map { $0.state.place.text }), node) }
            return head == derived
        }
        // Unless the reader's copies are the first on the way. If all is of them, others are needed: of what has changed before it was copied.
        if !isOnCopies || isOfSame { collector(depth).copyWhat(way) }
        return false
    }

    /// Whether a way from a derived value to itself is of values that were present together.
    private func isRing(_ way: [Collector], _ isOfSameCopies: Bool) -> Bool {
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
