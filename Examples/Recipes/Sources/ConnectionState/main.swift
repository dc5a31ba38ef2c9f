// SPDX-License-Identifier: Apache-2.0
//
// A state machine as a property: each transition happens once, whoever asks for it, and everybody hears of all of them in order.

import ConcurrentObserve
import Dispatch

var connection: Connection? = Connection()

let log = connection!.observe(\.state, delivery: .serial()) { change in
    switch change.reason {
    case .sourceDeleted: print("the connection is gone")
    default: print("\(change.version): \(change.old!) → \(change.new)")
    }
}

print("--- a task waits until the connection is open")
let opened = Task { [connection] in await connection!.isOpened() }
for event in [Connection.Event.open, .fail, .retry, .succeed] { connection!.handle(event) }
print("open: \(await opened.value)")

print("--- eight threads report the same failure")
let accepted = Observed(0)
DispatchQueue.concurrentPerform(iterations: 8) { [connection] _ in
    // The second report finds a connection that is being opened again: it must not count as a failure of that.
    let lost = connection!.state.compareExchange(expected: .connected, desired: .connecting(attempt: 1))
    if lost.exchanged { accepted.modify { $0 += 1 } }
}
print("accepted: \(accepted.value)")

print("--- it gives up")
for event in [Connection.Event.fail, .retry, .fail, .retry, .fail, .open] {
    if !connection!.handle(event) { print("\(event) means nothing now") }
}
print("open: \(await connection!.isOpened())")

connection = nil
withExtendedLifetime(log) {}
