// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Shows whether a thread sleeps. Other threads signal it only then.
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

    /// Whether the calling thread, which has just published work, must signal the thread that does
    /// the work. That thread sleeps, is about to sleep or does not exist, or the work is urgent.
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
        // Relaxed: a hint. The state never becomes absent again; an earlier state costs a needless
        // signal.
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
