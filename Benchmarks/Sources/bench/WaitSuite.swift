// SPDX-License-Identifier: Apache-2.0

import Judging
import ConcurrentObserve

/// Measures waiting for the end of an observation.
enum WaitSuite {
    static let cases = [idle]

    private static let idle = Case(
        name: "token.cancelAndWait.idle",
        unit: .microseconds,
        bar: .waitMicroseconds,
        summary: .median
    ) { effort in
        let registry = ObserverRegistry<Int>()
        let count = effort.work(1_000)
        return Case.Sides(ours: {
            let times = (0..<count).map { _ in
                let counter = Counter()
                let token = registry.observe { event in counter.value &+= event }
                registry.notify(1)
                return nanoseconds { token.cancelAndWaitBlocking() } / 1_000
            }
            return times.median
        })
    }
}
