// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Hummingbird
import Synchronization

/// Keeps metrics, and writes them in Prometheus's text format.
///
/// It is enough for this example. Your own service bootstraps swift-metrics with the backend that
/// you have.
package final class TextMetrics: MetricsFactory {
    private enum Kind: String { case counter, gauge, histogram }

    private struct Family {
        let kind: Kind
        /// The measures by their labels in text form.
        var measures: [String: Measure] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    package init() {}

    /// All measures in the order of their names. The measures of one name come after a line with
    /// its type.
    package var text: String {
        families.withLock { $0.sorted { $0.key < $1.key } }
            .flatMap { name, family in
                ["# TYPE \(name) \(family.kind.rawValue)"]
                    + family.measures.sorted { $0.key < $1.key }.flatMap { $1.lines(name, $0) }
            }
            .joined(separator: "\n") + "\n"
    }

    package var response: Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    private func measure(_ kind: Kind, _ label: String, _ dimensions: [(String, String)]) -> Measure {
        let name = Self.name(label)
        let labels = dimensions.map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            // If the name of a metric belongs to another kind, the metric is measured, but not
            // shown.
            guard family.kind == kind else { return Measure(isHistogram: kind == .histogram) }
            let measure = family.measures[labels] ?? Measure(isHistogram: kind == .histogram)
            family.measures[labels] = measure
            families[name] = family
            return measure
        }
    }

    private static func name(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { all, character in
            switch character {
            case "\\", "\"": all += "\\\(character)"
            case "\n": all += "\\n"
            default: all.append(character)
            }
        }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        measure(.counter, label, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        measure(.gauge, label, dimensions)
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler { measure(aggregate ? .histogram : .gauge, label, dimensions) }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        measure(.histogram, label, dimensions)
    }

    // Destroying a handler keeps its measure, which can still be read.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

/// A sum. For a histogram it also has the number of values up to each bound.
private final class Measure: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    /// The bounds in seconds, from a read in memory to a request that hangs.
    private static let bounds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct State {
        var sum = 0.0
        /// The last bucket counts the values above all bounds.
        var buckets: [Int]
    }

    private let state: Mutex<State>

    init(isHistogram: Bool) {
        state = Mutex(State(buckets: isHistogram ? Array(repeating: 0, count: Self.bounds.count + 1) : []))
    }

    func lines(_ name: String, _ labels: String) -> [String] {
        let state = state.withLock { $0 }
        let shown = labels.isEmpty ? "" : "{\(labels)}"
        guard !state.buckets.isEmpty else { return ["\(name)\(shown) \(state.sum)"] }
        let before = labels.isEmpty ? "" : "\(labels),"
        var count = 0
        var lines = zip(Self.bounds.map { "\($0)" } + ["+Inf"], state.buckets)
            .map { bound, bucket in
                count += bucket
                return "\(name)_bucket{\(before)le=\"\(bound)\"} \(count)"
            }
        lines += ["\(name)_sum\(shown) \(state.sum)", "\(name)_count\(shown) \(count)"]
        return lines
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
            guard !state.buckets.isEmpty else { return state.sum = value }
            state.sum += value
            state.buckets[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += 1
        }
    }

    /// Recorded in seconds, as is usual.
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
