// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
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
    /// A weak reference to the program's derived value.
    private let original: WeakReference
    /// Whether `decide(_:)` was called: the program has released the original.
    private let isDecided = Atomic(false)
    private let lock = SourceLock()
    private var successor: DerivationNode?

    init(of derived: DerivationNode) { original = WeakReference(derived) }

    /// The derived value, or its successor. Nil if there is no successor, or once a source that the
    /// successor names is gone. If the original's `deinit` has begun, waits until it has called
    /// `decide(_:)`.
    var node: DerivationNode? { original.object(as: DerivationNode.self) ?? awaitSuccessor() }

    /// The derived value or its successor; nil if neither exists now. Does not wait.
    var presentNode: DerivationNode? { original.object(as: DerivationNode.self) ?? presentSuccessor }

    /// The successor; nil if the original has none, or has not been released yet. Unlike `node`,
    /// this does not wait for the original's `deinit`.
    var presentSuccessor: DerivationNode? { lock.withLock { successor } }

    @inline(never)
    private func awaitSuccessor() -> DerivationNode? {
        // Another thread has begun the original's `deinit`, and calls decide(_:) before it runs
        // other code.
        Backoff.wait(for: "successor of a derived value") {
            // Relaxed: the lock orders the successor, which is stored before.
            !isDecided.load(ordering: .relaxed)
        }
        return presentSuccessor
    }

    /// Stores the successor of the original; nil if there is none. The original's `deinit` calls it
    /// once.
    func decide(_ successor: DerivationNode?) {
        lock.withLock {
            self.successor = successor
            // Relaxed: the lock orders the successor.
            isDecided.store(true, ordering: .relaxed)
        }
    }

    /// Takes the successor out of the keeper; nil if there is none. From now on the keeper has no
    /// derived value.
    func takeSuccessor() -> DerivationNode? { lock.withLock { successor.take() } }
}

// MARK: - Keeping

extension DerivationNode {
    /// Returns the keeper, which all observations and sequences of the value share.
    @usableFromInline
    internal final func keeper() -> DerivationKeeper {
        lock.withLock {
            if let presentKeeper { return presentKeeper }
            let new = DerivationKeeper(of: self)
            presentKeeper = new
            return new
        }
    }

    /// Makes a successor, if this derived value can have one, and passes it to `keeper`. Returns
    /// whether there is a successor. The `deinit` calls it.
    final func isSucceeded(in keeper: DerivationKeeper) -> Bool {
        let successor = isOfModel ? nil : makeSuccessor()
        successor?.presentKeeper = keeper
        keeper.decide(successor)
        return successor != nil
    }

    private final func makeSuccessor() -> DerivationNode? {
        // A successor that names sources has no successor of its own: it is dropped when a source
        // or the last observation has ended.
        if holdSources != nil { return nil }
        guard namesSources else { return makeSuccessor(nil) }
        let collector = Collector()
        collector.outcome.isWeakening = true
        run(collector)
        return makeSuccessor(collector.state.weakFunction)
    }

    /// Retains in `held` the sources that a successor references weakly. Returns false if one of
    /// them is gone. If `holdSources` is nil, does nothing and returns true: then the function
    /// itself retains its sources.
    @inline(__always)
    final func hold(_ held: inout HeldSources) -> Bool { holdSources?(&held) ?? true }

    /// Retains the sources that a successor references weakly, and calls `body`. Returns nil if one
    /// of them is gone. At the end, releases them on behalf of `user`.
    @inline(__always)
    final func withSources<Result>(for user: AnyObject, _ body: () -> Result) -> Result? {
        var held = HeldSources()
        defer { held.release(for: user) }
        return hold(&held) ? body() : nil
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
    /// Retains the objects that `run` needs. Returns false if one of them is gone.
    let hold: @Sendable (inout HeldSources) -> Bool
}

extension Collector {
    /// Stores a function that computes the same result, and references the sources weakly. A
    /// derived value's function calls this if `outcome.isWeakening`.
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
                collector.outcome.retains = true
                while true {
                    let value = collector.read(first.present)
                    let values = (repeat collector.read((each others).present))
                    guard let mustCompute = collector.mustCompute() else { continue }
                    if mustCompute { finish(collector, compute(value, repeat each values)) }
                    return
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

    /// Stores a function that calls `run` with `source`, and references the source weakly.
    @usableFromInline @inline(never)
    func weaken<Source: ObservableProperty>(
        only source: Source,
        run: @escaping @Sendable (Collector, Source) -> Void
    ) {
        let source = WeakSource(source)
        state.weakFunction = WeakFunction(run: { collector in run(collector, source.present) }, hold: source.hold)
    }
}
