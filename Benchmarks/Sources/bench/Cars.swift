// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

// A model whose paths have up to three steps.

final class Engine: ConcurrentObservable { let rpm = Observed(0) }

final class Car: ConcurrentObservable { let engine = Observed(Engine()) }

final class Garage: ConcurrentObservable {
    let car = Observed(Car())

    var engine: Engine { car.value.engine.value }
}

struct Cars: Sendable {
    let garage = Garage()
}
