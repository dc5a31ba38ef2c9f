// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Shows the progress of a run: one line that is rewritten on a terminal, new lines elsewhere.
package final class ProgressLine {
    private let isLive: Bool
    private let isQuiet: Bool
    private let usesColour: Bool
    private let start = nanoseconds()
    private let total: Duration
    private var lastOperations: UInt64 = 0
    private var lastTime = nanoseconds()
    private var gauges: GaugeReader

    /// Makes a progress line.
    ///
    /// - Parameters:
    ///   - total: The duration of the run, or zero if it is not known.
    ///   - isQuiet: Whether it shows nothing.
    package init(_ host: RunHost, total: Duration, isQuiet: Bool = false) {
        (self.total, gauges) = (total, GaugeReader(host))
        self.isQuiet = isQuiet
        isLive = !isQuiet && isatty(STDERR_FILENO) == 1
        usesColour = isLive && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    package func begin(_ scenario: Scenario) {
        lastOperations = 0
        lastTime = nanoseconds()
    }

    package func update(_ result: ScenarioResult, _ violations: Violations) {
        guard isLive else { return }
        let now = nanoseconds()
        let seconds = max(1e-9, Double(now - lastTime) / 1e9)
        let elapsed = Double(now - start) / 1e9
        let rate = Double(result.operations - min(lastOperations, result.operations)) / seconds
        let figures = gauges.read().map { "\(Int($0.value)) \($0.name)  " }.joined()
        (lastOperations, lastTime) = (result.operations, now)
        let remaining = max(0, total.seconds - elapsed)
        show(
            "\(Int(elapsed)) s, \(Int(remaining)) s to go  \(result.scenario.name)  \(Format.count(UInt64(rate))) op/s  "
                + "\(figures)violations \(violations.summary.total)"
        )
    }

    package func end(_ result: ScenarioResult) {
        guard !isQuiet else { return }
        clear()
        let verdict =
            usesColour
            ? "\u{1B}[\(result.verdict == .pass ? 32 : 31)m\(result.verdict.text)\u{1B}[0m" : result.verdict.text
        StandardError.print(
            "\(result.scenario.name): \(verdict), \(Format.count(result.operations)) operations in \(result.rounds) rounds"
        )
    }

    package func finish() { clear() }

    private func show(_ line: String) { put("\r\u{1B}[K\(line)") }
    private func clear() { if isLive { put("\r\u{1B}[K") } }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
