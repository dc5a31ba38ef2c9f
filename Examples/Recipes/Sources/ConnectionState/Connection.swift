// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A connection. Any thread drives its state, observes it, or waits for it.
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

    private let present = Observed(State.idle)
    /// Only events change it.
    var state: ReadOnly<State> { present.readOnly }

    /// Goes on to the next state, if the event means anything in the present one.
    ///
    /// Reading the state and setting the next one are one step. When two threads report the same
    /// event, one of them finds the new state.
    ///
    /// - Returns: Whether it went on.
    @discardableResult
    func handle(_ event: Event) -> Bool {
        while true {
            let state = present.value
            guard let next = state.after(event) else { return false }
            if present.compareExchange(expected: state, desired: next).exchanged { return true }
        }
    }

    /// Reports that an open connection was lost, unless another thread has reported it.
    ///
    /// - Returns: Whether this call was the first.
    func reportLoss() -> Bool {
        // A later report finds a connection that is being opened again. It is not a failure of that
        // attempt.
        present.compareExchange(expected: .connected, desired: .connecting(attempt: 1)).exchanged
    }

    /// Waits until the connection is open. Returns false if it is closed before.
    func isOpened() async -> Bool {
        for await state in state.values(options: .initial) {
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
