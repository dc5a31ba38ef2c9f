// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

final class Engine: ConcurrentObservable {
    let rpm: Observed<Int>

    init(rpm: Int = 0) { self.rpm = Observed(rpm) }
}

final class Car: ConcurrentObservable {
    let name = Observed("Beetle")
    let engine = Observed(Engine())
    let spare = Observed<Engine?>(nil)

    private let driven = Observed(0)
    /// Everyone can observe the mileage. Only the car changes it.
    var mileage: ReadOnly<Int> { driven.readOnly }

    /// Any thread. Each call is one change.
    func drive(_ miles: Int) { driven.modify { $0 += miles } }
}
