// SPDX-License-Identifier: Apache-2.0

#if Metrics
import ConcurrentObserve
public import CoreMetrics
import Synchronization

/// Publishes the figures of `ConcurrentObserveDiagnostics` as metrics. Their names begin with a
/// prefix.
///
/// | Metric | Kind | It shows |
/// | --- | --- | --- |
/// | `observers` | meter | observations that have begun and not ended |
/// | `backlog` | meter | retired items that are not reclaimed yet |
/// | `threads` | meter | threads that have used the library |
/// | `pending_events`, `peak_pending_events` | meter | events that wait in all mailboxes, and the largest number that was found |
/// | `mailbox_pending_events` | meter, with the dimension `label` | events that wait in each of the ten largest mailboxes, if it has a label |
/// | `oldest_callback_seconds` | meter | the time for which the oldest running callback has been seen running; 0 if none is running |
/// | `reclaimed`, `grace_periods`, `dropped_events`, `tokens_released_early` | counter | the numbers since the process began |
///
/// Make one object for a process. Each object adds to the counters everything that has happened
/// since its own last publication.
public final class LibraryMetrics: Sendable {
    private let observers: Meter
    private let backlog: Meter
    private let threads: Meter
    private let oldestCallback: Meter
    private let pendingEvents: Meter
    private let peakPendingEvents: Meter
    private let makeMailboxMeter: @Sendable (_ label: String) -> Meter
    private let reclaimed: Counter
    private let gracePeriods: Counter
    private let droppedEvents: Counter
    private let tokensReleasedEarly: Counter

    // The totals that were added to the counters. No lock guards them: a thread could hold it while
    // the process forks, because the metrics system is the user's code.
    private let publishedReclaimed = Atomic<Int>(0)
    private let publishedGracePeriods = Atomic<Int>(0)
    private let publishedDroppedEvents = Atomic<Int>(0)
    private let publishedTokensReleasedEarly = Atomic<Int>(0)

    /// The address of the meters of mailboxes, or 0. A publication takes the meters out, and puts
    /// them back afterwards. There is no lock here either.
    private let mailboxMeters = Atomic<UInt>(0)

    private final class MailboxMeters {
        var byLabel: [String: Meter] = [:]

        /// Returns the object at an address, and takes over the reference that the address stands
        /// for. Returns nil for 0.
        static func take(_ address: UInt) -> MailboxMeters? {
            // Safe: the exchange has given this address, and the reference to the object, to one
            // thread.
            unsafe UnsafeRawPointer(bitPattern: address).map {
                unsafe Unmanaged<MailboxMeters>.fromOpaque($0).takeRetainedValue()
            }
        }
    }

    /// Makes the metrics. They have no values before the first `publish()`.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the metrics' names. An underscore follows it.
    ///   - factory: The metrics system; by default the bootstrapped one.
    public init(prefix: String = "concurrent_observe", factory: any MetricsFactory = MetricsSystem.factory) {
        observers = Meter(label: "\(prefix)_observers", factory: factory)
        backlog = Meter(label: "\(prefix)_backlog", factory: factory)
        threads = Meter(label: "\(prefix)_threads", factory: factory)
        oldestCallback = Meter(label: "\(prefix)_oldest_callback_seconds", factory: factory)
        pendingEvents = Meter(label: "\(prefix)_pending_events", factory: factory)
        peakPendingEvents = Meter(label: "\(prefix)_peak_pending_events", factory: factory)
        makeMailboxMeter = { label in
            Meter(label: "\(prefix)_mailbox_pending_events", dimensions: [("label", label)], factory: factory)
        }
        reclaimed = Counter(label: "\(prefix)_reclaimed", factory: factory)
        gracePeriods = Counter(label: "\(prefix)_grace_periods", factory: factory)
        droppedEvents = Counter(label: "\(prefix)_dropped_events", factory: factory)
        tokensReleasedEarly = Counter(label: "\(prefix)_tokens_released_early", factory: factory)
    }

    // Relaxed: no other thread has the object.
    deinit { _ = MailboxMeters.take(mailboxMeters.load(ordering: .relaxed)) }

    /// Sets all metrics to the library's present figures. Call it from any thread. It never waits.
    ///
    /// If calls overlap, each meter keeps the value of the call that sets it last. Counters still
    /// count everything exactly once.
    ///
    /// - Complexity: O(threads).
    public func publish() {
        let now = ConcurrentObserveDiagnostics.current()
        observers.set(now.liveObservers)
        backlog.set(now.backlog)
        threads.set(now.threadRecords)
        pendingEvents.set(now.pendingEvents)
        peakPendingEvents.set(now.peakPendingEvents)
        publishMailboxes()
        oldestCallback.set((now.oldestCallbackAge ?? .zero).seconds)
        reclaimed.increase(publishedReclaimed, to: now.reclaimed)
        gracePeriods.increase(publishedGracePeriods, to: now.gracePeriods)
        droppedEvents.increase(publishedDroppedEvents, to: now.droppedEvents)
        tokensReleasedEarly.increase(publishedTokensReleasedEarly, to: now.tokensReleasedEarly)
    }

    /// Sets the meters of the largest mailboxes. If a mailbox is no longer among them, its meter is
    /// set to 0 once.
    private func publishMailboxes() {
        // Acquire and release, both: each publication passes the object on to the next one. The
        // first publication finds no object, and neither does one that overlaps with another.
        let taken = MailboxMeters.take(mailboxMeters.exchange(0, ordering: .acquiringAndReleasing))
        let meters = taken ?? MailboxMeters()
        publish(&meters.byLabel)
        // Safe: the reference is passed on together with the address.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(meters).toOpaque())
        _ = MailboxMeters.take(mailboxMeters.exchange(address, ordering: .acquiringAndReleasing))
    }

    private func publish(_ meters: inout [String: Meter]) {
        var pending: [String: UInt64] = [:]
        for mailbox in ConcurrentObserveDiagnostics.largestMailboxes() {
            if let label = mailbox.label { pending[label, default: 0] += mailbox.counts?.pending ?? 0 }
        }
        for (label, meter) in meters where pending[label] == nil {
            meter.set(0)
            meters[label] = nil
        }
        for (label, count) in pending {
            let meter = meters[label] ?? makeMailboxMeter(label)
            meters[label] = meter
            meter.set(Double(count))
        }
    }

    /// Publishes repeatedly, until the task is cancelled.
    ///
    /// - Parameter interval: The pause between two publications.
    /// - Precondition: `interval` is greater than zero.
    public func run(every interval: Duration = .seconds(10)) async { await run(every: interval, clock: .continuous) }

    /// Publishes repeatedly, until the task is cancelled. A clock measures the pauses.
    ///
    /// - Parameters:
    ///   - interval: The pause between two publications.
    ///   - clock: The clock that measures the interval. Tests pass a clock that they advance.
    /// - Precondition: `interval` is greater than zero.
    public func run(every interval: Duration, clock: some Clock<Duration>) async {
        guard interval > .zero else {
            fatalError(
                "ConcurrentObserve: figures published every \(interval) keep a processor busy. Wait longer than nothing in between."
            )
        }
        while !Task.isCancelled {
            publish()
            try? await clock.sleep(for: interval)
        }
    }
}

extension Counter {
    /// Increments the counter by the increase since the last total. A total may be lower than the
    /// last one, if it was read while it changed.
    fileprivate func increase(_ last: borrowing Atomic<Int>, to total: Int) {
        // Relaxed: a statistic; nothing is read because of it. `max` gives each increase to one
        // call.
        let before = last.max(total, ordering: .relaxed).oldValue
        if total > before { increment(by: total - before) }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
#endif
