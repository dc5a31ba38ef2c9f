// SPDX-License-Identifier: Apache-2.0

#if Logging
import ConcurrentObserve
import Dispatch
public import Logging

/// Warns of callbacks that do not return, and of mailboxes that grow, by their labels, for as long
/// as it is referenced.
///
/// It looks on a dispatch queue of its own, so that it goes on where every thread of the
/// cooperative pool is blocked by such callbacks. Looking costs the callbacks and the notifications
/// nothing.
///
/// ```swift
/// let watch = StuckCallbackWatch(logger: logger)
/// ```
///
/// Each call of a callback is warned of once, when it has been seen running for the limit, and
/// reported once more, as a notice, when it has returned. The metadata has the label of the
/// observation, property or registry as `label`, and the age as `running-seconds`.
///
/// A mailbox is warned of when more events wait in it than the limit, again each time their number
/// has doubled, and once more, as a notice, when fewer than 1,024 do. The metadata has `label`,
/// `pending-events`, and of the process `process-pending-events` and `process-peak-pending-events`.
public final class StuckCallbackWatch: Sendable {
    private let logger: Logger
    private let limit: Duration
    private let interval: Duration
    /// Calls a closure on a queue after a pause.
    private let wait: @Sendable (Duration, DispatchQueue, @escaping @Sendable () -> Void) -> Void
    /// The time by the clock that was passed; nil for the system's, by which the library knows the
    /// age of each callback.
    private let time: (@Sendable () -> Duration)?
    private let queue = DispatchQueue(label: "observe-stuck-watch", qos: .utility)
    private let pendingLimit: UInt64

    /// The warnings that are not over. Each look passes them on to the next look.
    private struct Known {
        var stuck: [ObservationReport.ID: Stuck] = [:]
        /// When a look first saw each callback that runs.
        var seen: [ObservationReport.ID: Duration] = [:]
        /// The mailboxes that the watch has warned of, with the number of events that waited then.
        var large: [ObservationReport.ID: ObservationReport] = [:]
    }

    private struct Stuck {
        let callback: ObservationReport
        let age: Duration

        var metadata: Logger.Metadata { callback.metadata(age: age) }
    }

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - logger: The logger of the warnings. It is called on the watch's queue.
    ///   - limit: How long a callback may run before it is warned of.
    ///   - interval: How long to wait between two looks: a callback may run longer than the limit
    ///     by this time before it is noticed.
    ///   - pendingLimit: How many events may wait in a mailbox before it is warned of: 1,024 at
    ///     least.
    public init(
        logger: Logger,
        limit: Duration = .seconds(5),
        interval: Duration = .seconds(1),
        pendingLimit: Int = 10_000
    ) {
        self.pendingLimit = UInt64(max(1_024, pendingLimit))
        (self.logger, self.limit, self.interval, time) = (logger, limit, interval, nil)
        wait = { pause, queue, body in
            let (seconds, attoseconds) = pause.components
            let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
            queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: body)
        }
        Self.look(again: self, in: .zero, Known())
    }

    /// Begins to watch, with looks at the times of a clock: for tests, which pass a clock that they
    /// advance.
    ///
    /// A task waits for the clock, so a look is late where every thread of the cooperative pool is
    /// blocked. How long a callback has been running counts from the first look that saw it.
    ///
    /// - Parameters:
    ///   - logger: The logger of the warnings. It is called on the watch's queue.
    ///   - limit: How long a callback may run before it is warned of.
    ///   - interval: How long to wait between two looks.
    ///   - pendingLimit: How many events may wait in a mailbox before it is warned of: 1,024 at
    ///     least.
    ///   - clock: The clock that measures the interval, and how long callbacks run. It never goes
    ///     back. If its `sleep` throws, the pause is over.
    public init(
        logger: Logger,
        limit: Duration = .seconds(5),
        interval: Duration = .seconds(1),
        pendingLimit: Int = 10_000,
        clock: some Clock<Duration>
    ) {
        self.pendingLimit = UInt64(max(1_024, pendingLimit))
        let start = clock.now
        (self.logger, self.limit, self.interval) = (logger, limit, interval)
        time = { start.duration(to: clock.now) }
        wait = { pause, queue, body in
            Task {
                if pause > .zero { try? await clock.sleep(for: pause) }
                queue.async(execute: body)
            }
        }
        Self.look(again: self, in: .zero, Known())
    }

    /// References the watch only during a look, so that the watch ends with its last reference.
    private static func look(again watch: StuckCallbackWatch, in pause: Duration, _ known: Known) {
        watch.wait(pause, watch.queue) { [weak watch] in
            guard let watch else { return }
            var known = known
            watch.lookAtCallbacks(&known)
            watch.lookAtMailboxes(&known.large)
            look(again: watch, in: watch.interval, known)
        }
    }

    /// Warns of callbacks that have become stuck, and reports those that have returned.
    ///
    /// - Parameter known: The callbacks that ran at the last look, and those that were stuck. The
    ///   call replaces them by those of this look.
    private func lookAtCallbacks(_ known: inout Known) {
        let now = time?()
        // A clock of the user's measures each callback from the first look that saw it.
        let running = ConcurrentObserveDiagnostics.callbacks(runningFor: now == nil ? limit : .zero)
        var stuck: [ObservationReport.ID: Stuck] = [:]
        var seen: [ObservationReport.ID: Duration] = [:]
        for callback in running {
            let since = now.map { known.seen[callback.id] ?? $0 }
            seen[callback.id] = since
            let age = now.flatMap { now in since.map { now - $0 } } ?? callback.age!
            if age >= limit { stuck[callback.id] = Stuck(callback: callback, age: age) }
        }
        for callback in running where known.stuck[callback.id] == nil {
            guard let new = stuck[callback.id] else { continue }
            logger.warning("a callback of \(callback.name) does not return", metadata: new.metadata)
        }
        for (id, returned) in known.stuck where stuck[id] == nil {
            logger.notice("a callback of \(returned.callback.name) has returned at last", metadata: returned.metadata)
        }
        (known.stuck, known.seen) = (stuck, seen)
    }
}

extension StuckCallbackWatch {
    /// Warns of mailboxes that have grown, and reports those that have become small.
    ///
    /// - Parameter known: The mailboxes that the watch has warned of. The call updates them.
    private func lookAtMailboxes(_ known: inout [ObservationReport.ID: ObservationReport]) {
        let present = ConcurrentObserveDiagnostics.largestMailboxes(100)
        let grown = present.filter { mailbox in
            guard mailbox.pending > pendingLimit else { return false }
            return known[mailbox.id].map { mailbox.pending / 2 >= $0.pending } ?? true
        }
        let shrunk = known.values.filter { mailbox in
            !present.contains { $0.id == mailbox.id && $0.pending >= 1_024 }
        }
        for mailbox in shrunk { known[mailbox.id] = nil }
        for mailbox in grown { known[mailbox.id] = mailbox }
        for mailbox in grown {
            logger.warning("the mailbox of \(mailbox.name) grows", metadata: mailbox.metadata(age: nil))
        }
        for mailbox in shrunk {
            logger.notice(
                "the mailbox of \(mailbox.name) has shrunk again",
                metadata: ["label": "\(mailbox.label ?? "")"]
            )
        }
    }
}

extension ObservationReport {
    /// The name of the observation, for people.
    fileprivate var name: String { label.map { "'\($0)'" } ?? "an observation without a label" }

    fileprivate var pending: UInt64 { counts?.pending ?? 0 }

    /// - Parameter age: How long the callback has been running; nil for a mailbox.
    fileprivate func metadata(age: Duration?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if let age {
            let (seconds, attoseconds) = age.components
            let tenths = seconds * 10 + attoseconds / 100_000_000_000_000_000
            metadata["running-seconds"] = "\(tenths / 10).\(tenths % 10)"
        }
        if let counts {
            let process = ConcurrentObserveDiagnostics.current()
            metadata["pending-events"] = "\(counts.pending)"
            metadata["process-pending-events"] = "\(process.pendingEvents)"
            metadata["process-peak-pending-events"] = "\(process.peakPendingEvents)"
        }
        if let label { metadata["label"] = "\(label)" }
        return metadata
    }
}
#endif
