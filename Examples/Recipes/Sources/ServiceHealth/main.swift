// SPDX-License-Identifier: Apache-2.0
//
// Ten signals, one verdict. A read of the verdict is current. Observers receive every verdict that
// differs, never one made from a mixture.

import ConcurrentObserve
import Dispatch

let health = ServiceHealth()
let pager = health.verdict.observe(options: .initial, delivery: .serial()) { change in print("\(change.new)") }

print("--- ten thousand reports that change no verdict")
DispatchQueue.concurrentPerform(iterations: 10_000) { number in
    health.latency.value = Double(number % 10) / 100
    health.queueLength.value = number % 50
}

print("--- errors and requests of one minute, in one commit")
health.traffic.commit { transaction in
    transaction[health.errorsPerMinute] = 80
    transaction[health.requestsPerMinute] = 1_000
}
health.traffic.commit { transaction in
    transaction[health.errorsPerMinute] = 90
    transaction[health.requestsPerMinute] = 4_000
}

print("--- a part fails, and another")
health.isCacheUp.value = false
health.isDatabaseUp.value = false
print(health.missing.value)
health.isDatabaseUp.value = true
health.isCacheUp.value = true

print("--- it drains: nothing else matters")
health.isDraining.value = true
health.isDatabaseUp.value = false
print("followed: \(health.isDatabaseUp.observationCount)")
print(pager.cancelAndWaitBlocking())
