// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A connection whose state any thread drives, and anybody may watch or wait for.
final class Connection: ConcurrentObservable {
    enum State: Sendable, Equatable {
        case idle
        case connecting(attempt: Int)
        case connected
        case waiting(attempt: Int)
        case closed
    }

    enum Event: Sendable {
        case open, succeed, fail, retry, close
    }

    let state = Observed(State.idle)

    /// Goes on to the next state, if the event means anything in the present one.
    ///
    /// Looking and going are one step: of two threads that report the same event, one finds that it has come too late.
    ///
    /// - Returns: Whether it went on.
    @discardableResult
    func handle(_ event: Event) -> Bool {
        while true {
            let present = state.value
            guard let next = present.after(event) else { return false }
            if state.compareExchange(expected: present, desired: next).exchanged { return true }
        }
    }

    /// Waits until the connection is open. Returns false if it is closed before.
    func isOpened() async -> Bool {
        for await state in state.values(includingInitial: true) {
            switch state {
            case .connected: return true
            case .closed: return false
            default: continue
            }
        }
        return false
    }
}

extension Connection.State {
    private static let attempts = 3

    /// The state machine, with no side effects; nil if the event means nothing here.
    func after(_ event: Connection.Event) -> Connection.State? {
        switch (self, event) {
        case (.idle, .open): .connecting(attempt: 1)
        case (.connecting, .succeed): .connected
        case (.connecting(let attempt), .fail): attempt < Self.attempts ? .waiting(attempt: attempt) : .closed
        case (.connected, .fail): .connecting(attempt: 1)
        case (.waiting(let attempt), .retry): .connecting(attempt: attempt + 1)
        case (.closed, _): nil
        case (_, .close): .closed
        default: nil
        }
    }
}
