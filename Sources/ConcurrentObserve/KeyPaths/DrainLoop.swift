// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Work that one thread does at a time, for all, while no other thread waits: a thread that comes meanwhile leaves a note, and the thread in
/// the loop goes round once more.
internal struct DrainLoop: ~Copyable, Sendable {
    private enum State {
        static var free: UInt8 { 0 }
        static var entered: UInt8 { 1 }
        /// A thread is in the loop, and another has come since.
        static var noted: UInt8 { 2 }
    }

    private let state: Atomic<UInt8>

    init(isEntered: Bool = false) { state = Atomic(isEntered ? State.entered : State.free) }

    /// Enters the loop; false if another thread is there, which will then do what there is to do.
    func enter() -> Bool {
        // Relaxed: the exchanges decide.
        var seen = state.load(ordering: .relaxed)
        while true {
            let next = seen == State.free ? State.entered : State.noted
            // Acquire and release: what this thread has done before happens before the round that the note asks for; pairs with the
            // exchange in leave(), as does what the last holder has done.
            let (exchanged, original) = state.weakCompareExchange(
                expected: seen,
                desired: next,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return next == State.entered }
            seen = original
        }
    }

    /// Leaves the loop; true if another thread has come meanwhile, so that there may be more to do.
    func leave() -> Bool {
        // Acquire and release: as above.
        state.exchange(State.free, ordering: .acquiringAndReleasing) == State.noted
    }
}
