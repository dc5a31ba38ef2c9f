// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Shows other threads whether one thread sleeps, so that they signal it only then.
///
/// The thread announces that it parks, looks for work once more, and only then sleeps. A thread
/// that brings work publishes the work first, and then reads whether the other thread is parked.
/// All four steps are sequentially consistent. Therefore at least one of the two threads sees the
/// other's store, and no work is lost.
internal struct Parking: ~Copyable {
    private let state = Atomic<State>(.absent)

    private enum State: UInt8, AtomicRepresentable {
        case awake
        /// The thread sleeps, or is about to.
        case parked
        /// The thread does not exist.
        case absent
    }

    /// Whether a thread that has brought work must signal the other thread, so that it notices the
    /// work.
    ///
    /// - Parameter urgently: Whether the work must not wait for the next pass. Then the answer is
    ///   always true.
    func needsSignal(urgently: Bool) -> Bool {
        // Sequentially consistent, as is the push before it: pairs with the store in park(). At
        // least one of the two threads sees the other's store.
        return urgently || state.load(ordering: .sequentiallyConsistent) != .awake
    }

    /// Whether the thread does not exist.
    var isAbsent: Bool {
        // Relaxed: the state returns to absent only when no other thread runs.
        state.load(ordering: .relaxed) == .absent
    }

    /// Announces that the thread is about to sleep. The thread must look for work once more
    /// afterwards.
    func park() {
        // Sequentially consistent, as are the last checks of the stacks that follow: pairs with the
        // load in needsSignal(urgently:).
        state.store(.parked, ordering: .sequentiallyConsistent)
    }

    /// Records that the thread is awake.
    func unpark() {
        state.store(.awake, ordering: .relaxed)  // Relaxed: an earlier state costs a needless signal.
    }
}
