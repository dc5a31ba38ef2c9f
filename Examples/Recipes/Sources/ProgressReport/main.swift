// SPDX-License-Identifier: Apache-2.0
//
// Progress of work on several threads. Every piece is counted. A slow display shows the latest, and
// delays no worker.

import ConcurrentObserve
import Dispatch
import Synchronization

final class Job: ConcurrentObservable {
    let total: Int
    private let pieces = Observed(Progress())
    /// Both numbers are one value: they always belong together.
    var progress: ReadOnly<Progress> { pieces.readOnly }

    struct Progress: Sendable, Equatable {
        var done = 0
        var failed = 0
        var finished: Int { done + failed }
    }

    init(total: Int) { self.total = total }

    /// Returns when all pieces are done.
    func work() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                DispatchQueue.concurrentPerform(iterations: total) { piece in
                    if piece % 100 == 99 {
                        pieces.modify { $0.failed += 1 }
                    } else {
                        pieces.modify { $0.done += 1 }
                    }
                }
                continuation.resume()
            }
        }
    }
}

/// Shows the numbers, on the main actor as user interfaces do.
@MainActor
final class Display {
    private(set) var shown: [Int] = []

    func show(_ progress: Job.Progress) { shown.append(progress.finished) }
}

let job = Job(total: 2_000)
let display = Display()

// On the main actor, since it is written in code of the main actor. It receives the last change,
// and those before for which there was time.
let reported = job.progress.observeIsolated(options: .initial, buffering: .latest) { change in
    display.show(change.new)
}

// Each receives every change, on the thread that makes it, and ends itself at the quarter it waits
// for.
let quarters = Mutex<[Int]>([])
var tokens = Set<ObservationToken>()
for quarter in 1...4 {
    let mark = job.total * quarter / 4
    job.progress.observe { change, observation in
        guard change.new.finished == mark else { return }
        observation.cancel()
        quarters.withLock { $0.append(quarter * 25) }
    }.store(in: &tokens)
}

// A task that waits for the end.
let finished = Task.detached {
    for await progress in job.progress.values(options: .initial, buffering: .latest)
    where progress.finished == job.total { return progress }
    return Job.Progress()
}

await job.work()

print("finished: \(await finished.value)")
print("quarters: \(quarters.withLock { $0.sorted() })")
print("still watching: \(tokens.filter(\.isActive).count)")

await reported.flush()
let counts = reported.deliveryCounts!
let shown = display.shown
print("display: \(shown.last!) at last, never back: \(shown == shown.sorted())")
print(
    "sent \(counts.sent), all of them shown or counted as dropped: \(UInt64(shown.count) + counts.dropped == counts.sent)"
)
