// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// A callback that blocks until this object is released, and two registries: its own and another
/// one.
final class StuckCallback {
    let registries = [ObserverRegistry<Int>(), ObserverRegistry<Int>()]
    private let gate = DispatchSemaphore(value: 0)
    private let left = DispatchSemaphore(value: 0)
    private let token: ObservationToken

    init() {
        let entered = DispatchSemaphore(value: 0)
        token = registries[0].observe { [gate] event in
            guard event == -1 else { return }
            entered.signal()
            gate.wait()
        }
        let thread = DispatchQueue(label: "stuck")
        thread.async { [registry = registries[0], left] in
            registry.notify(-1)
            left.signal()
        }
        entered.wait()
    }

    deinit {
        gate.signal()
        left.wait()
    }
}
