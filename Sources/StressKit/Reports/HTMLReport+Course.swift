// SPDX-License-Identifier: Apache-2.0

extension HTMLReport {
    /// Returns the charts of throughput, backlog and memory over time.
    package static func course(_ report: Report) -> String {
        guard report.samples.count > 1 else { return "" }
        let samples = report.samples
        let bands = bands(samples)
        let ticks = ticks(to: samples.last!.seconds)
        func chart(
            _ title: String,
            _ scale: Chart.Scale,
            _ format: @escaping (Double) -> String,
            _ value: (Sample) -> Double
        )
            -> String
        {
            let line = Chart.Line(name: title, points: samples.map { ($0.seconds, value($0)) })
            let chart = Chart(label: title, lines: [line], scale: scale, ticks: ticks, bands: bands, format: format)
            return "<figure><h3>\(title.escaped)</h3>\(chart.svg)</figure>"
        }
        func count(_ value: Double) -> String { Format.short(value) }
        var charts = [
            chart("operations a second", .logarithmic, count, \.operationsPerSecond),
            chart("resident memory", .linear, { "\(Int($0)) MiB" }) { Double($0.residentBytes) / 1_048_576 },
        ]
        charts += samples[0].gauges.keys.sorted().map { name in
            chart(name, .logarithmic, count) { $0.gauges[name] ?? 0 }
        }
        if let memory = report.memory, memory.points.count > 1 {
            let line = Chart.Line(
                name: "resident memory",
                points: memory.points.map { ($0.seconds, Double($0.residentBytes) / 1_048_576) }
            )
            let ends = Self.ticks(to: memory.points.last!.seconds)
            let chart = Chart(label: "at rest", lines: [line], scale: .linear, ticks: ends) { "\(Int($0)) MiB" }
            charts.append(
                "<figure><h3>resident memory at rest, after each round</h3>\(chart.svg)<figcaption>\(memory.text.escaped)</figcaption></figure>"
            )
        }
        return section(
            "Over time",
            "<p class=\"soft\">Seconds since the start. The background alternates with the scenarios.</p><div class=\"charts few\">\(charts.joined(separator: "\n"))</div>"
        )
    }

    /// Returns the times in which each scenario ran. Returns none if the scenarios alternate too
    /// often to be distinguished.
    private static func bands(_ samples: [Sample]) -> [(from: Double, to: Double, text: String)] {
        var bands: [(from: Double, to: Double, text: String)] = []
        for sample in samples {
            if let last = bands.last, last.text == sample.scenario {
                bands[bands.count - 1].to = sample.seconds
            } else {
                bands.append((bands.last?.to ?? sample.seconds, sample.seconds, sample.scenario))
            }
        }
        return bands.count > 100 ? [] : bands
    }

    private static func ticks(to end: Double) -> [(x: Double, text: String)] {
        let steps = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 86_400]
        let step = steps.first { end / $0 <= 6 } ?? end / 5
        return Array(stride(from: 0, through: end, by: step)).map { seconds in
            (seconds, seconds.rounded() == seconds ? "\(Int(seconds)) s" : Format.seconds(seconds))
        }
    }

    /// Returns a chart of latencies for each scenario that has measured some.
    package static func latencies(_ report: Report) -> String {
        let figures = report.scenarios.filter { !$0.latencies.isEmpty }.map { row in
            let chart = Chart(
                label: "latency of \(row.name)",
                lines: row.latencies.map { Chart.Line(name: $0.name, points: $0.curve) },
                scale: .logarithmic,
                ticks: zip(0..., ["p50", "p90", "p99", "p99.9", "p99.99", "max"]).map { (Double($0), $1) },
                range: 10...10_000_000_000,
                format: { Format.time(UInt64($0)) }
            )
            let captions = row.latencies.enumerated().map { number, latency in
                "<span class=\"key\(number == 0 ? "" : " second")\">\(latency.text.escaped)</span>"
            }
            return
                "<figure><h3>\(row.name.escaped)</h3>\(chart.svg)<figcaption>\(captions.joined(separator: "<br>"))</figcaption></figure>"
        }
        guard !figures.isEmpty else { return "" }
        return section("Latency by percentile", "<div class=\"charts\">\(figures.joined(separator: "\n"))</div>")
    }
}
