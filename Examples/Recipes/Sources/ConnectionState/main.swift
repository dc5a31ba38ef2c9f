// SPDX-License-Identifier: Apache-2.0
//
// A state machine as a property. Each transition happens once, and observers receive all of them in
// order.

import ConcurrentObserve
import Dispatch

var connection: Connection? = Connection()

let log = connection!.state.observe(delivery: .serial()) { change in
    print("\(change.version): \(change.old!) → \(change.new)")
}
.onEnd { _ in print("the connection is gone") }

print("--- a task waits until the connection is open")
let opened = Task { [connection] in await connection!.isOpened() }
for event in [Connection.Event.open, .fail, .retry, .succeed] { connection!.handle(event) }
print("open: \(await opened.value)")

print("--- eight threads report the same failure")
let accepted = Observed(0)
DispatchQueue.concurrentPerform(iterations: 8) { [connection] _ in
    if connection!.reportLoss() { accepted.modify { $0 += 1 } }
}
print("accepted: \(accepted.value)")

print("--- it stops trying")
for event in [Connection.Event.fail, .retry, .fail, .retry, .fail, .open] {
    if !connection!.handle(event) { print("\(event) means nothing now") }
}
print("open: \(await connection!.isOpened())")

connection = nil
// `onEnd` runs on a thread of the library: wait for it.
await withCheckedContinuation { ended in log.onEnd { _ in ended.resume() } }
