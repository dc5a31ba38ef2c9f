// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Functions whose weak properties lose their referents while they run.

extension Promises.P25CopiesTests {
    @Test(
        "P23 On copies a weak property has the referent that it had when it was copied, though that has lost its owner"
    )
    func referents() {
        let (first, weak, number, runs) = (CountedReferent(0), WeakObserved<CountedReferent>(), Observed(0), Counter())
        let (both, owner) = (Group(weak, number), Slot<CountedReferent>())
        owner.put(first)
        weak.value = first
        let derived = Derived { get in
            let present = get(number)
            let run = runs.increment()
            if run <= Self.mostDisturbed {
                onAnotherThread {
                    let next = CountedReferent(run)
                    both.commit { transaction in
                        transaction[weak] = next
                        transaction[number] = run
                    }
                    owner.put(next)
                }
            }
            return [present, get(weak)?.number ?? -1]
        }
        let value = derived.value
        #expect(value[0] == value[1], "\(value)")
        #expect(runs.value <= Self.mostRuns)
    }
}

private final class CountedReferent: WeaklyObservable {
    let lifetime = ReferentLifetime()
    let number: Int
    init(_ number: Int) { self.number = number }
}
