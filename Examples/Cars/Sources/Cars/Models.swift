// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

final class Engine: ConcurrentObservable {
    let rpm: Observed<Int>

    init(rpm: Int = 0) { self.rpm = Observed(rpm) }
}

final class Car: ConcurrentObservable {
    let name = Observed("Beetle")
    let mileage = Observed(0)
    let engine = Observed(Engine())
    let spare = Observed<Engine?>(nil)
}
