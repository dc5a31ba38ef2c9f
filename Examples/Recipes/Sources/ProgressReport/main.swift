// SPDX-License-Identifier: Apache-2.0
//
// Progress of work on several threads: every piece is counted, a display that is slow shows the latest and holds up nobody.

import ConcurrentObserve
import Dispatch
import Synchronization

final class Job: ConcurrentObservable {
    let total: Int
    /// Both numbers are one value: nobody sees one without the other.
    let progress = Observed(Progress())

    struct Progress: Sendable, Equatable {
        var done = 0
        var failed = 0
        var finished: Int { done + failed }
    }

    init(total: Int) { self.total = total }

    func work() {
        DispatchQueue.concurrentPerform(iterations: total) { piece in
            if piece % 100 == 99 {
                progress.modify { $0.failed += 1 }
            } else {
                progress.modify { $0.done += 1 }
            }
        }
    }
}

/// Shows the numbers, one at a time, and has to be asked by nobody.
actor Display {
    private(set) var shown: [Int] = []

    func show(_ progress: Job.Progress) { shown.append(progress.finished) }
}

let job = Job(total: 2_000)
let display = Display()

// Hears the last, and of those before what it has time for.
let reported = job.progress.observe(on: display, options: .initial, buffering: .latest) { display, change in
    if let progress = change.new { display.show(progress) }
}

// Hears every change, on the thread that makes it: it ends itself at the quarter it waits for, once.
let quarters = Mutex<[Int]>([])
var tokens = Set<ObservationToken>()
for quarter in 1...4 {
    let mark = job.total * quarter / 4
    job.progress.observe() { change, observation in
        guard let finished = change.new?.finished, finished == mark else { return }
        observation.cancel()
        quarters.withLock { $0.append(quarter * 25) }
    }.store(in: &tokens)
}

// A task that waits for the end.
let finished = Task.detached {
    for await progress in job.progress.values(includingInitial: true, buffering: .latest)
    where progress.finished == job.total { return progress }
    return Job.Progress()
}

job.work()

print("finished: \(await finished.value)")
print("quarters: \(quarters.withLock { $0.sorted() })")
print("still watching: \(tokens.filter(\.isActive).count)")

let counts = await { () async -> DeliveryCounts in
    while reported.deliveryCounts!.pending > 0 { await Task.yield() }
    return reported.deliveryCounts!
}()
let shown = await display.shown
print("display: \(shown.last!) at last, never back: \(shown == shown.sorted())")
print(
    "sent \(counts.sent), all of them shown or counted as dropped: \(UInt64(shown.count) + counts.dropped == counts.sent)"
)
