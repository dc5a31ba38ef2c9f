// SPDX-License-Identifier: Apache-2.0

#if Logging
import ConcurrentObserve
import Dispatch
public import Logging

/// Logs warnings about callbacks that do not return, and about mailboxes that grow, with their
/// labels. It watches for as long as it is referenced.
///
/// The watch has its own dispatch queue, so it continues even if such callbacks block every thread
/// of the cooperative pool. It costs callbacks and notifications nothing.
///
/// ```swift
/// let watch = StuckCallbackWatch(logger: logger)
/// ```
///
/// If a call of a callback does not return within `limit`, the watch logs one warning. When the
/// call has returned, it logs one notice. The metadata has the label of the observation, property
/// or registry as `label`, and the age of the call as `running-seconds`.
///
/// If more than `pendingLimit` events wait in a mailbox, the watch logs a warning, and another one
/// each time that their number has doubled. When fewer than 1,024 events wait, it logs one notice.
/// The metadata of a warning has `label` and `pending-events`, and for the whole process
/// `process-pending-events` and `process-peak-pending-events`.
public final class StuckCallbackWatch: Sendable {
    private let logger: Logger
    private let limit: Duration
    private let interval: Duration
    /// Calls a closure on a queue, after a pause.
    private let wait: @Sendable (Duration, DispatchQueue, @escaping @Sendable () -> Void) -> Void
    /// The time by the clock that was passed; nil for the system's clock. The library itself
    /// measures the age of each callback by the system's clock.
    private let time: (@Sendable () -> Duration)?
    private let queue = DispatchQueue(label: "observe-stuck-watch", qos: .utility)
    private let pendingLimit: UInt64

    /// The state that each look passes on to the next look: the callbacks and mailboxes that the
    /// watch has seen or warned of.
    private struct Known {
        var stuck: [ObservationReport.ID: Stuck] = [:]
        /// The time at which a look first saw each running callback. Empty with the system's clock.
        var seen: [ObservationReport.ID: Duration] = [:]
        /// The mailboxes that the watch has warned of, each with the number of events that waited
        /// then.
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
    ///   - limit: The time that a callback may run before the watch logs a warning.
    ///   - interval: The pause between two looks. A warning may come later than the limit by this
    ///     time.
    ///   - pendingLimit: The number of events that may wait in a mailbox before the watch logs a
    ///     warning. Numbers below 1,024 count as 1,024.
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

    /// Begins to watch, and measures time by `clock`. Tests pass a clock that they advance.
    ///
    /// A task waits for the clock, so a look comes late if every thread of the cooperative pool is
    /// blocked. The age of a callback counts from the first look that saw it.
    ///
    /// - Parameters:
    ///   - logger: The logger of the warnings. It is called on the watch's queue.
    ///   - limit: The time that a callback may run before the watch logs a warning.
    ///   - interval: The pause between two looks.
    ///   - pendingLimit: The number of events that may wait in a mailbox before the watch logs a
    ///     warning. Numbers below 1,024 count as 1,024.
    ///   - clock: The clock that measures the interval, and the ages of callbacks. It must not go
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

    /// Schedules the next look. It retains the watch only during a look, so the watch ends when its
    /// last reference is released.
    private static func look(again watch: StuckCallbackWatch, in pause: Duration, _ known: Known) {
        watch.wait(pause, watch.queue) { [weak watch] in
            guard let watch else { return }
            var known = known
            watch.lookAtCallbacks(&known)
            watch.lookAtMailboxes(&known.large)
            look(again: watch, in: watch.interval, known)
        }
    }

    /// Logs a warning for each callback that has become stuck, and a notice for each that has
    /// returned.
    ///
    /// - Parameter known: The callbacks that the last look saw running, and those that were stuck.
    ///   The call replaces them with those of this look.
    private func lookAtCallbacks(_ known: inout Known) {
        let now = time?()
        // By a clock of the user's, the age of a callback counts from the first look that saw it.
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
    /// Logs a warning for each mailbox that has more than `pendingLimit` events, and another one
    /// when their number has doubled. Logs a notice for each mailbox that has shrunk.
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

    /// Makes the metadata of a log message.
    ///
    /// - Parameter age: The time for which the callback has been running; nil for a mailbox.
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
