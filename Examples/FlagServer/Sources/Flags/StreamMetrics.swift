// SPDX-License-Identifier: Apache-2.0

import Metrics

/// What the streams are doing, for swift-metrics.
struct StreamMetrics: Sendable {
    /// Streams that go on.
    let open: Meter
    /// Commits that clients were sent.
    let sent: Counter
    /// Commits that clients were not sent, since later ones came before they could take them.
    let dropped: Counter
    /// Commits of which clients of the provider's events were sent no event of their own.
    let providerDropped: Counter

    init(factory: any MetricsFactory) {
        open = Meter(label: "flag_streams_open", factory: factory)
        sent = Counter(label: "flag_events_sent_total", factory: factory)
        dropped = Counter(label: "flag_events_dropped_total", factory: factory)
        providerDropped = Counter(label: "flag_provider_events_dropped_total", factory: factory)
    }
}
