// SPDX-License-Identifier: Apache-2.0

#if Etcd
import CoreMetrics

/// Reports to swift-metrics what a mirror is doing, each metric with the dimension `mirror`. The
/// metrics follow the contents: a reader that has seen a change may still find the metrics from
/// before it.
struct MirrorMetrics: Sendable {
    /// 1 while the contents may count as current, else 0.
    let isReady: Meter
    /// The revision up to which the contents are complete.
    let position: Meter
    /// How many revisions and seconds the contents may be behind: those of ``MirrorLag``.
    let behindRevisions, behindSeconds: Meter
    /// Keys with a good value, and keys whose present value is malformed.
    let keys, malformed: Meter
    /// Revisions and events that watches brought.
    let revisions, events: Counter
    /// Sessions that have ended.
    let sessions: Counter
    /// Lists, and those of them that replaced a resumption.
    let lists, relists: Counter
    /// Comparisons without a difference, and differences.
    let comparisons, divergences: Counter
    /// Changes that were not written, since the key had changed.
    let conflicts: Counter

    /// - Parameter engine: The engine's name, with which the metrics' names begin.
    init(engine: String, label: String, factory: any MetricsFactory) {
        let dimensions = [("mirror", label)]
        func counter(_ name: String) -> Counter {
            Counter(label: "\(engine)_mirror_\(name)_total", dimensions: dimensions, factory: factory)
        }
        func meter(_ name: String) -> Meter {
            Meter(label: "\(engine)_mirror_\(name)", dimensions: dimensions, factory: factory)
        }
        isReady = meter("ready")
        position = meter("position")
        behindRevisions = meter("behind_revisions")
        behindSeconds = meter("behind_seconds")
        keys = meter("keys")
        malformed = meter("malformed_keys")
        revisions = counter("revisions")
        events = counter("events")
        sessions = counter("ended_sessions")
        lists = counter("lists")
        relists = counter("relists")
        comparisons = counter("comparisons")
        divergences = counter("divergences")
        conflicts = counter("conflicts")
    }
}
#endif
