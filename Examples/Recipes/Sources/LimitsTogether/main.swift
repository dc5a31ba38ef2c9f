// SPDX-License-Identifier: Apache-2.0
//
// Settings with a rule in common, replaced together while requests are served: no request sees half
// of a release, and a release that breaks the rule is refused.

import ConcurrentObserve
import Dispatch
import Synchronization

final class Limits: ConcurrentObservable {
    let release = Observed("1.0")
    /// Never above `most`.
    let least = Observed(1)
    let most = Observed(8)

    /// The values that must be seen together, as one group: its snapshots are whole, and so are its
    /// changes.
    var together: Group<(String, Int, Int)> { Group(release, least, most) }
}

struct Unordered: Error {}

/// - Throws: `Unordered`, and then all settings are as before.
func roll(out name: String, _ range: ClosedRange<Int>? = nil, least: Int? = nil, on limits: Limits) throws {
    try limits.together.commit { draft in
        draft[limits.release] = name
        if let least { draft[limits.least] = least }
        if let range { (draft[limits.least], draft[limits.most]) = (range.lowerBound, range.upperBound) }
        // The drafts, with what this body has set: other threads still have the settings from
        // before.
        guard draft[limits.least] <= draft[limits.most] else { throw Unordered() }
    }
}

let limits = Limits()

print("--- one change for each release, however many settings it replaces")
let bag = ObservationBag()
limits.together.observe { change in
    let (name, least, most) = change.new
    print("release \(name): \(least)...\(most)")
}.store(in: bag)
// A setting that a release leaves alone has not changed.
limits.most.observe { change in print("  most is \(change.new)") }.store(in: bag)

try roll(out: "1.1", 2...16, on: limits)
try roll(out: "1.2", least: 4, on: limits)

print("--- refused as a whole")
do {
    try roll(out: "1.3", least: 64, on: limits)
} catch {
    print("still \(limits.release.value), \(limits.least.value)...\(limits.most.value)")
}
bag.cancelAll()

print("--- requests beside releases")
let halves = Atomic(0)
DispatchQueue.concurrentPerform(iterations: 3) { thread in
    for round in 1...2_000 {
        if thread == 0 {
            try! roll(out: "2.\(round)", round...(10 * round), on: limits)
        } else {
            let (name, least, most) = limits.together.value
            let isWhole = name.hasPrefix("1.") || (name == "2.\(least)" && most == 10 * least)
            if !isWhole { halves.add(1, ordering: .relaxed) }
        }
    }
}
print("requests with half of a release: \(halves.load(ordering: .relaxed)) of 4000")
print("release \(limits.release.value): \(limits.least.value)...\(limits.most.value)")
