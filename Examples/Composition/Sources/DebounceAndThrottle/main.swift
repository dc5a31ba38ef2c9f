// SPDX-License-Identifier: Apache-2.0
//
// A search field that asks when its user stops typing, and a progress bar that is drawn at its own
// pace: debounce and throttle of swift-async-algorithms over the values of a property.

import AsyncAlgorithms
import ConcurrentObserve
import Dispatch

print("--- debounce: the value that stays for a while")
do {
    let query = Observed("")
    // An iterator receives every change since it was made, so nothing is missed before the first
    // `next()`.
    var settled = query.values(options: .initial).debounce(for: .milliseconds(500)).makeAsyncIterator()
    print("asked for \"\(await settled.next()!)\"")
    let typed = "a concurrent observation library"
    for end in typed.indices { query.value = String(typed[...end]) }
    // One query for the whole text; more if the machine stops for half a second between two
    // letters.
    var queries = 0
    repeat {
        queries += 1
    } while await settled.next() != typed
    print("asked for \"\(typed)\", with fewer queries than letters: \(queries < typed.count)")
}

print("--- throttle: at most one value in each interval, and the latest")
do {
    let clock = ContinuousClock()
    let interval = Duration.milliseconds(20)
    let progress = Observed(0)
    // `_throttle` has its underscore until the package has settled its name.
    let drawn = progress.values(options: .initial)._throttle(for: interval, clock: clock)
    let work = Task.detached {
        while !Task.isCancelled {
            progress.modify { $0 += 1 }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
    var drawings = 0
    let start = clock.now
    // The sequence passes a value on when the interval is over and the next change comes. So the
    // last value of a source that rests is read from the property.
    for await _ in drawn {
        drawings += 1
        if drawings == 5 { break }
    }
    print("five drawings took four intervals at least: \(clock.now - start >= interval * 4)")
    work.cancel()
    _ = await work.result
}

print("--- without another package: the reader's own pace")
do {
    let progress = Observed(0)
    // With `.latest` a slow reader finds the latest value, and never misses the last one.
    let values = progress.values(options: .initial, buffering: .latest)
    DispatchQueue.global().async { for part in 1...1_000 { progress.value = part } }
    var drawings = 0
    for await part in values {
        drawings += 1
        if part == 1_000 { break }
        try await Task.sleep(for: .milliseconds(20))
    }
    print("fewer drawings than changes: \(drawings < 1_000); at the end: \(progress.value)")
}
