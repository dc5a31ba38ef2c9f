// SPDX-License-Identifier: Apache-2.0

/// Draws a history for people: a row for each operation, with a bar for its time, grouped by
/// thread.
package enum HistoryChart {
    /// Returns the chart as text.
    ///
    /// - Complexity: O(*n*²) in the number of operations.
    package static func text<Operation: CustomStringConvertible>(_ history: [Interval<Operation>]) -> String {
        // Times are shown as ranks: the chart shows which event came first, not how long it took.
        let moments = Set(history.flatMap { [$0.start, $0.end] }).sorted()
        let first = moments.first ?? 0
        var table = TextTable([("thread", false), ("operation", false), ("from", true), ("to", true), ("order", false)])
        for interval in history.sorted(by: { ($0.thread, $0.start) < ($1.thread, $1.start) }) {
            let start = moments.firstIndex(of: interval.start)!
            let end = moments.firstIndex(of: interval.end)!
            table.add([
                "\(interval.thread)", interval.operation.description,
                Format.time(interval.start - first), Format.time(interval.end - first),
                String(repeating: " ", count: start) + "├" + String(repeating: "─", count: max(0, end - start - 1))
                    + "┤",
            ])
        }
        return table.text
    }
}
