// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// Keeps what is measured, and writes it as text, a line for each: what Prometheus and its like read.
///
/// Enough for this example. A service of your own bootstraps swift-metrics with the backend that you have.
public final class TextMetrics: MetricsFactory {
    private let measures = Mutex<[String: Measure]>([:])

    public init() {}

    /// All measures, in the order of their names.
    package var text: String {
        measures.withLock { $0.sorted { $0.key < $1.key } }
            .flatMap { name, measure in measure.lines(name) }
            .joined(separator: "\n") + "\n"
    }

    private func measure(_ label: String, _ dimensions: [(String, String)]) -> Measure {
        let name = String(label.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        let labels = dimensions.map { key, value in "\(String(key.map { $0 == "." ? "_" : $0 }))=\"\(value)\"" }
        let key = labels.isEmpty ? name : "\(name){\(labels.joined(separator: ","))}"
        return measures.withLock { measures in
            if let known = measures[key] { return known }
            let new = Measure()
            measures[key] = new
            return new
        }
    }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        measure(label, dimensions)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        measure(label, dimensions)
    }

    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler { measure(label, dimensions) }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        measure(label, dimensions)
    }

    // What was measured stays to be read.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
}

/// A sum, and of how many.
private final class Measure: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    private struct State {
        var sum = 0.0
        /// How many were recorded; nil for counters and meters, which are sums.
        var recorded: Int?
    }

    private let state = Mutex(State())

    func lines(_ name: String) -> [String] {
        let state = state.withLock { $0 }
        guard let recorded = state.recorded else { return ["\(name) \(state.sum)"] }
        let labels = name.firstIndex(of: "{") ?? name.endIndex
        return [
            "\(name[..<labels])_count\(name[labels...]) \(recorded)",
            "\(name[..<labels])_sum\(name[labels...]) \(state.sum)",
        ]
    }

    func increment(by amount: Int64) { state.withLock { $0.sum += Double(amount) } }
    func reset() { state.withLock { $0.sum = 0 } }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.sum = value } }
    func increment(by amount: Double) { state.withLock { $0.sum += amount } }
    func decrement(by amount: Double) { state.withLock { $0.sum -= amount } }

    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        state.withLock { state in
            state.sum += value
            state.recorded = (state.recorded ?? 0) + 1
        }
    }

    /// In seconds, as is usual.
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
