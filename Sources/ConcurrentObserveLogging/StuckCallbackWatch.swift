// SPDX-License-Identifier: Apache-2.0

#if Logging
import ConcurrentObserve
import Dispatch
public import Logging

/// Warns of callbacks that do not return, by the label of their registry, for as long as it is referenced.
///
/// It looks on a dispatch queue of its own, so that it goes on where every thread of the cooperative pool is blocked by such callbacks. Looking
/// costs the callbacks and the notifications nothing.
///
/// ```swift
/// let watch = StuckCallbackWatch(logger: logger)
/// ```
///
/// Each call of a callback is warned of once, when it has been seen running for the limit, and told of once more, as a notice, when it has
/// returned. The metadata has the label as `registry`, and the age as `running-seconds`.
public final class StuckCallbackWatch: Sendable {
    private let logger: Logger
    private let limit: Duration
    private let interval: Duration
    private let queue = DispatchQueue(label: "observe-stuck-watch", qos: .utility)

    /// Callbacks that were warned of and not seen to return. One look passes them on to the next.
    private typealias Stuck = [RunningCallback.ID: RunningCallback]

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - logger: What the warnings go to. It is called on the watch's queue.
    ///   - limit: How long a callback may run before it is warned of.
    ///   - interval: How long to wait between two looks: a callback may run for so much longer than the limit before it is noticed.
    public init(logger: Logger, limit: Duration = .seconds(5), interval: Duration = .seconds(1)) {
        self.logger = logger
        self.limit = limit
        self.interval = interval
        Self.look(again: self, in: .zero, [:])
    }

    /// Holds the watch during a look only, so that it ends with its last reference.
    private static func look(again watch: StuckCallbackWatch, in pause: Duration, _ stuck: Stuck) {
        let (seconds, attoseconds) = pause.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        watch.queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak watch] in
            guard let watch else { return }
            look(again: watch, in: watch.interval, watch.look(stuck))
        }
    }

    /// - Returns: The callbacks that are stuck now.
    private func look(_ stuck: Stuck) -> Stuck {
        let running = ConcurrentObserveDiagnostics.callbacks(runningFor: limit)
        let new = running.filter { stuck[$0.id] == nil }
        let returned = stuck.values.filter { known in !running.contains { $0.id == known.id } }
        for callback in new {
            logger.warning("a callback of \(callback.source) does not return", metadata: callback.metadata)
        }
        for callback in returned {
            logger.notice("a callback of \(callback.source) has returned at last", metadata: callback.metadata)
        }
        return Dictionary(uniqueKeysWithValues: running.map { ($0.id, $0) })
    }
}

extension RunningCallback {
    /// What it observes, for people.
    fileprivate var source: String {
        label.map { "the registry '\($0)'" } ?? "a property, or of a registry without a label,"
    }

    fileprivate var metadata: Logger.Metadata {
        let (seconds, attoseconds) = age.components
        let tenths = seconds * 10 + attoseconds / 100_000_000_000_000_000
        var metadata: Logger.Metadata = ["running-seconds": "\(tenths / 10).\(tenths % 10)"]
        if let label { metadata["registry"] = "\(label)" }
        return metadata
    }
}
#endif
