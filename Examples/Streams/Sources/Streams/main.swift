// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve

final class Tyre: ConcurrentObservable {
    let pressure = Observed(0)
}

print("--- removeDuplicates, chunks")
do {
    var tyre: Tyre? = Tyre()
    let pressures = tyre!.pressure.values(options: .initial)
    let chunks = pressures.removeDuplicates().chunks(ofCount: 3)
    // From here on the iterator receives every change, whether it is asked for one or not.
    var iterator = chunks.makeAsyncIterator()
    for pressure in [1, 1, 2, 3, 3, 3, 4] { tyre!.pressure.value = pressure }
    // The sequence does not retain its source, and finishes with it.
    tyre = nil
    while let chunk = await iterator.next() { print(chunk) }
}

print("--- zip")
do {
    let (counts, names) = (Observed(0), Observed("zero"))
    var pairs = zip(counts.values(options: .initial), names.values(options: .initial)).makeAsyncIterator()
    // The algorithm makes its iterators when it is first asked: with the initial values it has
    // both.
    if let (count, name) = await pairs.next() { print(count, name) }
    for count in 1...2 { counts.value = count }
    for name in ["one", "two"] { names.value = name }
    for _ in 1...2 { if let (count, name) = await pairs.next() { print(count, name) } }
}

print("--- merge")
do {
    let (front, rear) = (Tyre(), Tyre())
    var merged = merge(
        front.pressure.values(options: .initial).map { "front \($0)" },
        rear.pressure.values(options: .initial).map { "rear \($0)" }
    ).makeAsyncIterator()
    // The first two come in any order.
    var first: [String] = []
    for _ in 1...2 { if let tyre = await merged.next() { first.append(tyre) } }
    print(first.sorted())
    for (tyre, pressure) in [(front, 2), (rear, 3), (rear, 4), (front, 5)] {
        tyre.pressure.value = pressure
        if let line = await merged.next() { print(line) }
    }
}

print("--- a group of tasks")
do {
    var tyres = (1...3).map { _ in Tyre() }
    // How many tasks have begun to listen.
    let listening = Observed(0)
    await withTaskGroup(of: (tyre: Int, sum: Int, changes: UInt64).self) { group in
        for (index, tyre) in tyres.enumerated() {
            let changes = tyre.pressure.changes(options: .initial)
            group.addTask {
                var result = (tyre: index, sum: 0, changes: UInt64(0))
                for await change in changes {
                    if change.reason == .initial { listening.modify { $0 += 1 } }
                    result.sum += change.new
                    result.changes = change.version
                }
                return result
            }
        }
        for await count in listening.values(options: .initial) where count == tyres.count { break }
        for pressure in 1...100 { for (index, tyre) in tyres.enumerated() { tyre.pressure.value = pressure * index } }
        // The tasks' sequences finish with the tyres.
        tyres = []
        var results: [(tyre: Int, sum: Int, changes: UInt64)] = []
        for await result in group { results.append(result) }
        for result in results.sorted(by: { $0.tyre < $1.tyre }) {
            print("tyre \(result.tyre): \(result.changes) changes, sum \(result.sum)")
        }
    }
}

print("--- several properties as one sequence")
do {
    let (front, rear) = (Tyre(), Tyre())
    // Paths, properties and read-only ones can be in one group. Each element is a tuple.
    let both = Group(front.pressure, rear.property(\.pressure)).values(options: .initial)
    var iterator = both.makeAsyncIterator()
    rear.pressure.value = 3
    front.pressure.value = 2
    for _ in 1...3 { if let (front, rear) = await iterator.next() { print(front, rear) } }
}

print("--- the end of an observation, at the top level")
let spare = Tyre()
let token = spare.pressure.observe { change in print("spare", change.new) }
spare.pressure.value = 6
print(await token.cancelAndWait())
spare.pressure.value = 7
