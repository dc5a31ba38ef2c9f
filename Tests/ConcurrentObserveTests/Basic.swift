// SPDX-License-Identifier: Apache-2.0
import Testing
import ConcurrentObserve
@Test func basic() { let r = ObserverRegistry<Int>(); let t = r.observe { print($0) }; r.notify(3); t.cancelAndWait() }
