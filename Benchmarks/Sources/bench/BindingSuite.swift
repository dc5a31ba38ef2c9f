// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// Measures changes of a bound property. The reference makes the same two changes by hand.
enum BindingSuite {
    static let cases = [oneWay, twoWay]

    private static let oneWay = bound("binding.set.one-way", .bindOneWay) { source, destination in
        source.bind(to: destination)
    }
    private static let twoWay = bound("binding.set.two-way", .bindTwoWay) { source, destination in
        source.bindBidirectionally(with: destination)
    }

    private static func bound(
        _ name: String,
        _ bar: Bar,
        _ bind: @escaping @Sendable (Observed<Int>, Observed<Int>) -> ObservationToken
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar) { effort in
            let (source, destination) = (Observed(0), Observed(0))
            let token = bind(source, destination)
            let (first, second) = (Observed(0), Observed(0))
            let times = effort.work(200_000)
            return Case.Sides(
                ours: {
                    let time = withExtendedLifetime(token) { nanoseconds { setInLoop(source, times) } }
                    if destination.value != times - 1 { fatalError("\(name): the bound property has not followed") }
                    return time / Double(times)
                },
                reference: {
                    nanoseconds {
                        for value in 0..<times {
                            first.value = value
                            second.value = value
                        }
                    } / Double(times)
                }
            )
        }
    }
}
