// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps a derived value for its observations and sequences, and retains none of the sources that it names. (P11)
///
/// It does not retain the derived value that the program has, which retains these sources. When the program drops that,
/// a successor takes over its function, its evaluation and its observers. The successor refers weakly to the sources.
/// The keeper retains it, and every observation and sequence of the derived value retains the keeper.
@usableFromInline
internal final class DerivationKeeper: @unchecked Sendable {
    // Unchecked: `successor` is guarded by `lock`.
    /// Nil once the program has dropped the derived value.
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

    /// The derived value, or its successor; nil once a source that the successor names is gone.
    var node: (any DerivationNode)? { findOriginal() ?? awaitSuccessor() }

    /// The successor, if there is one now.
    var presentSuccessor: (any DerivationNode)? {
        // Acquire: pairs with the release in decide(_:).
        state.load(ordering: .acquiring) == State.successor ? lock.withLock { successor } : nil
    }

    @inline(never)
    private func awaitSuccessor() -> (any DerivationNode)? {
        // Another thread has begun the original's `deinit`, and decides before it runs other code. In the child of a fork it may not exist.
        Backoff.wait(for: "successor of a derived value") {
            // Relaxed: the next look orders it.
            state.load(ordering: .relaxed) == State.original && Fork.generation == 0
        }
        return presentSuccessor
    }

    /// Says what follows the original: a successor or nothing. Once, in the original's `deinit`.
    func decide(_ successor: (any DerivationNode)?) {
        lock.withLock { self.successor = successor }
        // Release: pairs with the acquire in presentSuccessor.
        state.store(successor == nil ? State.over : State.successor, ordering: .releasing)
    }

    /// Takes the successor: there is no derived value any more.
    func takeSuccessor() -> (any DerivationNode)? {
        // Relaxed: the lock orders it.
        state.store(State.over, ordering: .relaxed)
        return lock.withLock { successor.take() }
    }
}
