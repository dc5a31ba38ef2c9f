// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one thread at a time do work on behalf of all threads. No thread waits for this work. A
/// thread that finds another thread in the loop leaves a note. The thread in the loop then makes
/// one more round.
internal struct DrainLoop: ~Copyable, Sendable {
    private enum State {
        static var free: UInt8 { 0 }
        static var entered: UInt8 { 1 }
        /// A thread is in the loop, and another one has tried to enter since.
        static var noted: UInt8 { 2 }
    }

    private let state: Atomic<UInt8>

    init(isEntered: Bool = false) { state = Atomic(isEntered ? State.entered : State.free) }

    /// Enters the loop. Returns false if another thread is in it: `leave()` then returns true to
    /// that thread.
    func enter() -> Bool {
        // Relaxed: a first guess; the exchange below decides.
        var seen = state.load(ordering: .relaxed)
        while true {
            let next = seen == State.free ? State.entered : State.noted
            // Acquire and release: pairs with the exchange in leave(). The earlier work of this
            // thread is visible to the round that its note asks for, and the work of the last
            // thread in the loop is visible to this thread.
            let (exchanged, original) = state.weakCompareExchange(
                expected: seen,
                desired: next,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return next == State.entered }
            seen = original
        }
    }

    /// Leaves the loop. Returns true if another thread has tried to enter: then there may be more
    /// to do.
    func leave() -> Bool {
        // Acquire and release: pairs with the exchange in enter().
        state.exchange(State.free, ordering: .acquiringAndReleasing) == State.noted
    }
}
