// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes the data of the plots, with one file for each, as the scripts in `Plots` read them:
/// columns separated by tabulators, and `NaN` where nothing was measured.
enum PlotData {
    static func write(_ report: Report, to folder: URL) throws {
        try write(cost(report), to: folder.appending(path: "cost.tsv"))
        try write(latency(report), to: folder.appending(path: "latency.tsv"))
        try write(threads(report), to: folder.appending(path: "threads.tsv"))
    }

    /// Returns the nanoseconds of a notification over the number of its observers.
    private static func cost(_ report: Report) -> [[String]] {
        let peers = ["mutex", "opencombine", "notificationcenter", "actor"]
        let rows = [1, 10, 100, 10_000].map { count in
            let suffix = ".notify.\(count)-observers"
            let ours = report.outcome("registry" + suffix)
            return ["\(count)", text(ours?.ours), text(ours?.reference)]
                + peers.map { text(report.outcome($0 + suffix)?.reference) }
        }
        let million = report.outcome("registry.notify.1000000-observers")
        let last = ["1000000", text(million?.ours, 1e6), text(million?.reference, 1e6)] + peers.map { _ in text(nil) }
        return [
            ["observers", "ConcurrentObserve", "C", "Mutex and array", "OpenCombine", "NotificationCenter", "actor"]
        ] + rows + [last]
    }

    /// Returns the nanoseconds over one divided by the share of operations that took longer.
    private static func latency(_ report: Report) -> [[String]] {
        let heading = ["tail"] + report.latencies.map(\.situation)
        let percentiles = report.latencies.first?.percentiles.map(\.percentile) ?? []
        return [heading]
            + percentiles.map { percentile in
                ["\(100 / (100 - percentile))"] + report.latencies.map { text($0.value(percentile).map { Double($0) }) }
            }
    }

    /// Returns by what factor a notification takes longer on two threads than on one.
    private static func threads(_ report: Report) -> [[String]] {
        let shared = report.outcome("registry.notify.growth-on-2-threads")
        let own = report.outcome("registry.notify.growth-on-2-threads-own-registries")
        let mutex = report.outcome("mutex.notify.growth-on-2-threads")
        return [
            ["subject", "growth"],
            ["one registry", text(shared?.ours)], ["own registries", text(own?.ours)],
            ["C", text(shared?.reference)], ["mutex and array", text(mutex?.reference)],
        ]
    }

    private static func text(_ value: Double?, _ factor: Double = 1) -> String {
        guard let value, value.isFinite else { return "NaN" }
        return "\(value * factor)"
    }

    private static func write(_ rows: [[String]], to file: URL) throws {
        try Data((rows.map { $0.joined(separator: "\t") }.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
}

extension Report {
    /// Returns the line of a case. Returns nil if the case was not measured, or if all rounds were
    /// disturbed, because a plot does not show that.
    fileprivate func outcome(_ name: String) -> Line? { outcomes.first { $0.name == name && !$0.isDisturbed } }
}
