// SPDX-License-Identifier: Apache-2.0

#if Etcd
import CoreMetrics

/// Reports the work of a mirror to swift-metrics. Each metric has the dimension `mirror`. The
/// metrics are set after the contents, so a reader that has seen a change may still find older
/// metrics.
struct MirrorMetrics: Sendable {
    /// 1 while the contents count as current, otherwise 0.
    let isReady: Meter
    /// The revision up to which the contents are complete.
    let position: Meter
    /// The number of revisions, and of seconds, by which the contents may be behind: see
    /// ``MirrorLag``.
    let behindRevisions, behindSeconds: Meter
    /// The number of keys with a good value, and of keys whose present value is malformed.
    let keys, malformed: Meter
    /// The number of revisions, and of events, that watches delivered.
    let revisions, events: Counter
    /// The number of sessions that have ended.
    let sessions: Counter
    /// `lists`: the number of lists. `relists`: the number of times that the mirror had to list
    /// because it could not continue from its position.
    let lists, relists: Counter
    /// `comparisons`: the number of comparisons with the engine that found no difference.
    /// `divergences`: the number of times that the contents differed from the engine's, or that the
    /// engine had lost data.
    let comparisons, divergences: Counter
    /// The number of changes that were not written, because a key did not have the expected
    /// revision.
    let conflicts: Counter

    /// Makes the metrics.
    ///
    /// - Parameters:
    ///   - engine: The engine's name. The names of the metrics begin with it.
    ///   - label: The value of the dimension `mirror`.
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
