// SPDX-License-Identifier: Apache-2.0
//
// The user and the policy decide what a user may do. No request is judged by the rights of one and
// the state of the other that were never there together.

import ConcurrentObserve
import Dispatch

let policy = Observed(Policy(rights: ["reader": ["read"], "editor": ["read", "write"]], whileSuspended: ["read"]))
let session = Session(User(name: "ada", roles: ["editor"]), under: policy)

print("--- asked by each request")
print("write: \(session.may("write")), delete: \(session.may("delete"))")

print("--- asked by all threads at once")
let refused = Observed(0)
DispatchQueue.concurrentPerform(iterations: 8_000) { _ in
    if !session.may("read") { refused.modify { $0 += 1 } }
}
print("refused: \(refused.value)")

print("--- an open page follows its user's rights")
let page = session.rights.map { $0.contains("write") }
let button = page.observe { change in print(change.new ? "shows the button" : "hides the button") }
policy.modify { $0.rights["editor"] = ["read", "write", "delete"] }
session.user.modify { $0.isSuspended = true }
policy.modify { $0.rights["editor"] = ["read"] }
session.user.modify { $0.isSuspended = false }
session.user.modify { $0.roles = ["editor", "owner"] }
policy.modify { $0.rights["owner"] = ["write"] }

print("--- the page is closed")
print("followed: \(policy.observationCount)")
print(button.cancelAndWaitBlocking())
print("followed: \(policy.observationCount), write: \(session.may("write"))")
