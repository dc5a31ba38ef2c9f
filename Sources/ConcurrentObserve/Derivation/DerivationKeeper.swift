// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps a derived value for its observations and sequences, and retains none of the sources that
/// the derived value names. (P11)
///
/// The keeper does not retain the program's derived value, which retains these sources. When the
/// program releases that derived value, a successor takes over its function, its evaluation and its
/// observers. The successor references the sources weakly, and the keeper retains the successor.
/// Every observation and sequence of the derived value retains the keeper.
@usableFromInline
internal final class DerivationKeeper: @unchecked Sendable {
    // Unchecked: `successor` is guarded by `lock`.
    /// Returns the program's derived value; nil once the program has released it.
    private let findOriginal: @Sendable () -> (any DerivationNode)?
    private let state = Atomic(State.original)
    private let lock = SourceLock()
    private var successor: (any DerivationNode)?

    private enum State {
        /// The program has the derived value.
        static var original: UInt8 { 0 }
        static var successor: UInt8 { 1 }
        /// There is no derived value any more.
        static var over: UInt8 { 2 }
    }

    init<Node: DerivationNode>(of derived: Node) {
        let original = WeakReference(derived)
        findOriginal = { original.object(as: Node.self) }
    }

    /// The derived value, or its successor. Nil if there is no successor, or once a source that the
    /// successor names is gone.
    var node: (any DerivationNode)? { findOriginal() ?? awaitSuccessor() }

    /// The successor, if there is one now.
    var presentSuccessor: (any DerivationNode)? {
        // Acquire: pairs with the release in decide(_:).
        state.load(ordering: .acquiring) == State.successor ? lock.withLock { successor } : nil
    }

    @inline(never)
    private func awaitSuccessor() -> (any DerivationNode)? {
        // Another thread has begun the original's `deinit`, and calls decide(_:) before it runs
        // other code.
        Backoff.wait(for: "successor of a derived value") {
            // Relaxed: presentSuccessor loads the state again.
            state.load(ordering: .relaxed) == State.original
        }
        return presentSuccessor
    }

    /// Sets what follows the original: a successor or nothing. Called once, in the original's
    /// `deinit`.
    func decide(_ successor: (any DerivationNode)?) {
        lock.withLock { self.successor = successor }
        // Release: pairs with the acquire in presentSuccessor.
        state.store(successor == nil ? State.over : State.successor, ordering: .releasing)
    }

    /// Takes the successor out of the keeper. From now on there is no derived value.
    func takeSuccessor() -> (any DerivationNode)? {
        // Relaxed: a thread that still loads the earlier state finds no successor under the lock.
        state.store(State.over, ordering: .relaxed)
        return lock.withLock { successor.take() }
    }
}

// MARK: - Keeping

extension Derived {
    /// Returns the keeper, which all observations and sequences of the value share.
    @usableFromInline
    internal func keeper() -> DerivationKeeper {
        cell.lock.withLock {
            if let presentKeeper { return presentKeeper }
            let new = DerivationKeeper(of: self)
            presentKeeper = new
            return new
        }
    }

    /// Whether the value belongs to a model. Its observations then end with the model, and do not
    /// keep the value.
    internal var isOfModel: Bool {
        // Relaxed: set before other threads receive the derived value.
        get { modelMark.load(ordering: .relaxed) }
        set { modelMark.store(newValue, ordering: .relaxed) }
    }

    /// Makes a successor, if the value has one, and reports it to the keeper. Returns whether there
    /// is a successor. Called in the `deinit`.
    internal func isSucceeded(in keeper: DerivationKeeper) -> Bool {
        let successor = isOfModel ? nil : makeSuccessor()
        successor?.presentKeeper = keeper
        keeper.decide(successor)
        return successor != nil
    }

    private func makeSuccessor() -> Derived? {
        // A successor that names sources has none: it is dropped when a source or the last
        // observation has ended.
        if holdSources != nil { return nil }
        guard cell.namesSources else { return Derived(succeeding: self, nil) }
        let collector = Collector()
        collector.outcome.isWeakening = true
        cell.run(collector)
        return Derived(succeeding: self, collector.state.weakFunction)
    }
}

extension Derived: WeaklyNamed {
    var weakSource: WeakSource<Derived> {
        if isOfModel { return WeakSource(self) { $0 } }
        let keeper = keeper()
        return WeakSource(
            find: { keeper.node.map { $0 as! Derived } },
            hold: { held in
                guard let node = keeper.node else { return false }
                return held.add(node) && node.hold(&held)
            }
        )
    }
}

// MARK: - Functions of successors

/// The function of a successor, which references its sources weakly.
internal struct WeakFunction: Sendable {
    let run: @Sendable (Collector) -> Void
    /// Retains the objects that the function needs. Returns false if one is gone.
    let hold: @Sendable (inout HeldSources) -> Bool
}

extension Collector {
    /// Stores a function that computes the same from weak references to the sources. A derived
    /// value's function calls this if `outcome.isWeakening`.
    ///
    /// - Parameters:
    ///   - compute: Receives values that were present together.
    ///   - finish: Hands a result to the collector.
    @usableFromInline @inline(never)
    func weaken<Value, First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value,
        finish: @escaping @Sendable (Collector, Value) -> Void
    ) {
        let first = WeakSource(first)
        let others = (repeat WeakSource(each other))
        state.weakFunction = WeakFunction(
            run: { collector in
                collector.snapshot {
                    let value = collector.read(first.present)
                    let values = (repeat collector.read((each others).present))
                    return { finish(collector, compute(value, repeat each values)) }
                }
            },
            hold: { held in
                guard first.hold(&held) else { return false }
                for other in repeat each others {
                    guard other.hold(&held) else { return false }
                }
                return true
            }
        )
    }

    /// Stores a function that calls `run` with a source, which it references weakly.
    @usableFromInline @inline(never)
    func weaken<Source: ObservableProperty>(
        only source: Source,
        run: @escaping @Sendable (Collector, Source) -> Void
    ) {
        let source = WeakSource(source)
        state.weakFunction = WeakFunction(run: { collector in run(collector, source.present) }, hold: source.hold)
    }
}
