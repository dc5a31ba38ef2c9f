// SPDX-License-Identifier: Apache-2.0

#if Metrics
import ConcurrentObserve
public import CoreMetrics
import Synchronization

/// How the library is doing, as metrics: what `ConcurrentObserveDiagnostics` has, under names of a prefix.
///
/// | Metric | Kind | What it tells |
/// | --- | --- | --- |
/// | `observers` | meter | observations that have begun and not ended |
/// | `backlog` | meter | what was retired and is not reclaimed yet |
/// | `threads` | meter | threads that have used the library |
/// | `oldest_callback_seconds` | meter | how long the oldest running callback has been seen running; 0 when none is |
/// | `reclaimed`, `grace_periods`, `dropped_events` | counter | since the process began |
///
/// One object for a process: counters are increased by what has happened since the last publication of this very object.
public final class LibraryMetrics: Sendable {
    private let observers: Meter
    private let backlog: Meter
    private let threads: Meter
    private let oldestCallback: Meter
    private let reclaimed: Counter
    private let gracePeriods: Counter
    private let droppedEvents: Counter

    // What the counters have been increased to. No lock: a thread could hold it while the process forks, and the metrics' system
    // is the user's code.
    private let publishedReclaimed = Atomic<Int>(0)
    private let publishedGracePeriods = Atomic<Int>(0)
    private let publishedDroppedEvents = Atomic<Int>(0)

    /// Makes the metrics; none has a value before the first `publish()`.
    ///
    /// - Parameters:
    ///   - prefix: What their names begin with, before an underscore.
    ///   - factory: The system that they belong to; the one that is bootstrapped, unless it is given.
    public init(prefix: String = "concurrent_observe", factory: any MetricsFactory = MetricsSystem.factory) {
        observers = Meter(label: "\(prefix)_observers", factory: factory)
        backlog = Meter(label: "\(prefix)_backlog", factory: factory)
        threads = Meter(label: "\(prefix)_threads", factory: factory)
        oldestCallback = Meter(label: "\(prefix)_oldest_callback_seconds", factory: factory)
        reclaimed = Counter(label: "\(prefix)_reclaimed", factory: factory)
        gracePeriods = Counter(label: "\(prefix)_grace_periods", factory: factory)
        droppedEvents = Counter(label: "\(prefix)_dropped_events", factory: factory)
    }

    /// Sets all metrics to the library's present figures. Any thread; waits for nobody.
    ///
    /// Of calls that overlap, each meter keeps the value of the last that sets it. Counters increase by everything exactly once.
    ///
    /// - Complexity: O(threads).
    public func publish() {
        let now = ConcurrentObserveDiagnostics.current()
        observers.set(now.liveObservers)
        backlog.set(now.backlog)
        threads.set(now.threadRecords)
        oldestCallback.set((now.oldestCallbackAge ?? .zero).seconds)
        reclaimed.increase(publishedReclaimed, to: now.reclaimed)
        gracePeriods.increase(publishedGracePeriods, to: now.gracePeriods)
        droppedEvents.increase(publishedDroppedEvents, to: now.droppedEvents)
    }

    /// Publishes again and again, until the task is cancelled.
    ///
    /// - Parameter interval: How long to wait in between.
    public func run(every interval: Duration = .seconds(10)) async {
        while !Task.isCancelled {
            publish()
            try? await Task.sleep(for: interval)
        }
    }
}

extension Counter {
    /// Increases the counter by what has come since; a figure that was read while it changed may be lower than before.
    fileprivate func increase(_ last: borrowing Atomic<Int>, to total: Int) {
        // Relaxed: a statistic; nothing is read because of it. `max` gives each increase to one call.
        let before = last.max(total, ordering: .relaxed).oldValue
        if total > before { increment(by: total - before) }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
#endif
