// SPDX-License-Identifier: Apache-2.0
//
// A service that shows who observes what, why a derived value was computed, and which observations
// do not end.

import ConcurrentObserve
import ConcurrentObserveInspection

// First: observations that are made earlier are not recorded.
ConcurrentObserveDiagnostics.startRecording()

let errors = Observed(0, label: "errors")
let requests = Observed(100, label: "requests")
let verdict = Derived(errors, requests) { errors, requests in errors * 20 > requests ? "failing" : "healthy" }
let logins = ObserverRegistry<String>(label: "logins")

/// Each session observes as long as it lives. If these pile up, something keeps the sessions.
final class Session: Sendable {
    let token: ObservationToken

    // Inlined, it would be at its caller's line.
    @inline(never) init() {
        token = logins.observe { _ in }
    }
}

var sessions = (0..<3).map { _ in Session() }
let pager = verdict.observe(delivery: .serial()) { _ in }
pager.label = "pager"
errors.value = 9

print("--- GET /admin/observations")
print(AdminPage(verdict: verdict).text)

print("--- the sessions are gone")
sessions = []
requests.value = 1_000
print(AdminPage(verdict: verdict).text)
print(pager.cancelAndWaitBlocking())
