// SPDX-License-Identifier: Apache-2.0

import AsyncAlgorithms
import ConcurrentObserve

final class Tyre: ConcurrentObservable {
    let pressure = Observed(0)
}

print("--- removeDuplicates, chunks")
do {
    var tyre: Tyre? = Tyre()
    let chunks = tyre!.values(\.pressure, includingInitial: true).removeDuplicates().chunks(ofCount: 3)
    // From here on the iterator hears everything; nobody has to wait for it.
    var iterator = chunks.makeAsyncIterator()
    for pressure in [1, 1, 2, 3, 3, 3, 4] { tyre!.pressure.value = pressure }
    // The sequence keeps nothing alive, and finishes with its source.
    tyre = nil
    while let chunk = await iterator.next() { print(chunk) }
}

print("--- zip")
do {
    let (counts, names) = (Observed(0), Observed("zero"))
    var pairs = zip(counts.values(includingInitial: true), names.values(includingInitial: true)).makeAsyncIterator()
    // The algorithm makes its iterators when it is first asked: with the initial values it has both.
    if let (count, name) = await pairs.next() { print(count, name) }
    for count in 1...2 { counts.value = count }
    for name in ["one", "two"] { names.value = name }
    for _ in 1...2 { if let (count, name) = await pairs.next() { print(count, name) } }
}

print("--- merge")
do {
    let (front, rear) = (Tyre(), Tyre())
    var merged = merge(
        front.values(\.pressure, includingInitial: true).map { "front \($0)" },
        rear.values(\.pressure, includingInitial: true).map { "rear \($0)" }
    ).makeAsyncIterator()
    // The first two come in any order.
    var first: [String] = []
    for _ in 1...2 { if let tyre = await merged.next() { first.append(tyre) } }
    print(first.sorted())
    for (tyre, pressure) in [(front, 2), (rear, 3), (rear, 4), (front, 5)] {
        tyre.pressure.value = pressure
        if let heard = await merged.next() { print(heard) }
    }
}

print("--- a group of tasks")
do {
    var tyres = (1...3).map { _ in Tyre() }
    // How many tasks have begun to listen.
    let listening = Observed(0)
    await withTaskGroup(of: (tyre: Int, sum: Int, changes: UInt64).self) { group in
        for (index, tyre) in tyres.enumerated() {
            let changes = tyre.changes(\.pressure, options: .initial)
            group.addTask {
                var result = (tyre: index, sum: 0, changes: UInt64(0))
                for await change in changes {
                    switch change.reason {
                    case .initial: listening.modify { $0 += 1 }
                    case .sourceDeleted: break
                    default: (result.sum, result.changes) = (result.sum + (change.new ?? 0), change.version)
                    }
                }
                return result
            }
        }
        for await count in listening.values(includingInitial: true) where count == tyres.count { break }
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

print("--- the end of an observation, at the top level")
let spare = Tyre()
let token = spare.pressure.observe { change in print("spare", change.new ?? 0) }
spare.pressure.value = 6
print(await token.cancelAndWait())
spare.pressure.value = 7
