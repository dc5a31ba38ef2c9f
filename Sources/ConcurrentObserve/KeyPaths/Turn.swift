// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Work that one thread does at a time, and for which nobody waits: who comes while it is being done leaves a note, and whoever
/// does it starts anew.
internal struct Turn: ~Copyable, Sendable {
    private enum State {
        static var free: UInt8 { 0 }
        static var taken: UInt8 { 1 }
        /// Taken, and somebody has come since.
        static var noted: UInt8 { 2 }
    }

    private let state: Atomic<UInt8>

    init(isTaken: Bool = false) { state = Atomic(isTaken ? State.taken : State.free) }

    /// Takes the turn; false if somebody has it, who will then do what there is to do.
    func take() -> Bool {
        // Relaxed: the exchanges decide.
        var seen = state.load(ordering: .relaxed)
        while true {
            let next = seen == State.free ? State.taken : State.noted
            // Acquire and release: what this thread has done before happens before the round that the note asks for; pairs with the
            // exchange in giveBack(), as does what the last holder has done.
            let (exchanged, original) = state.weakCompareExchange(
                expected: seen,
                desired: next,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return next == State.taken }
            seen = original
        }
    }

    /// Gives the turn back; true if somebody has come meanwhile, so that there may be more to do.
    func giveBack() -> Bool {
        // Acquire and release: as above.
        state.exchange(State.free, ordering: .acquiringAndReleasing) == State.noted
    }
}
