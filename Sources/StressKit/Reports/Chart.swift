// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Draws lines over an axis as SVG, which takes its colours from the page.
package struct Chart {
    package struct Line {
        package let name: String
        package let points: [(x: Double, y: Double)]
    }

    package enum Scale { case linear, logarithmic }

    package let label: String
    package let lines: [Line]
    package let scale: Scale
    /// The places of labels along the axis, with their texts.
    package let ticks: [(x: Double, text: String)]
    /// Areas of the background, with their labels.
    package var bands: [(from: Double, to: Double, text: String)] = []
    /// The ends of the vertical axis; nil if the points determine them.
    package var range: ClosedRange<Double>?
    /// Formats a value as text.
    package let format: (Double) -> String

    private static let (width, height) = (440.0, 190.0)
    private static let (left, right, top, bottom) = (62.0, 12.0, 10.0, 26.0)

    package var svg: String {
        let points = lines.flatMap(\.points)
        guard !points.isEmpty else { return "" }
        let (low, high) = bounds(points.map(\.y))
        let x0 = min(points.map(\.x).min()!, ticks.map(\.x).min() ?? .infinity)
        let x1 = max(points.map(\.x).max()!, ticks.map(\.x).max() ?? -.infinity)
        func x(_ value: Double) -> Double {
            Self.left + (value - x0) / max(x1 - x0, 1e-9) * (Self.width - Self.left - Self.right)
        }
        func y(_ value: Double) -> Double {
            Self.height - Self.bottom
                - (placed(value) - placed(low)) / (placed(high) - placed(low)) * (Self.height - Self.top - Self.bottom)
        }
        var parts: [String] = []
        for (number, band) in bands.enumerated() {
            parts.append(
                """
                <rect class="band\(number % 2)" x="\(n(x(band.from)))" y="\(Self.top)" width="\(n(max(0, x(band.to) - x(band.from))))" \
                height="\(Self.height - Self.top - Self.bottom)"><title>\(band.text.escaped)</title></rect>
                """
            )
        }
        for value in levels(low, high) {
            parts.append(
                """
                <line class="grid" x1="\(Self.left)" x2="\(Self.width - Self.right)" y1="\(n(y(value)))" y2="\(n(y(value)))"/>\
                <text class="level" x="\(Self.left - 6)" y="\(n(y(value) + 4))">\(name(of: value).escaped)</text>
                """
            )
        }
        for tick in ticks {
            parts.append(
                "<text class=\"tick\" x=\"\(n(x(tick.x)))\" y=\"\(Self.height - 8)\">\(tick.text.escaped)</text>"
            )
        }
        for (number, line) in lines.enumerated() where !line.points.isEmpty {
            let path = line.points.map { "\(n(x($0.x))),\(n(y($0.y)))" }.joined(separator: " ")
            parts.append(
                "<polyline class=\"line\(number)\" points=\"\(path)\"><title>\(line.name.escaped)</title></polyline>"
            )
        }
        return """
            <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" aria-label="\(label.escaped)">
            \(parts.joined(separator: "\n"))
            </svg>
            """
    }

    /// Returns the place of a value on the vertical axis.
    private func placed(_ value: Double) -> Double { scale == .linear ? value : log10(max(value, 1)) }

    private func bounds(_ values: [Double]) -> (Double, Double) {
        if let range { return (range.lowerBound, range.upperBound) }
        let (least, most) = (values.min()!, values.max()!)
        switch scale {
        case .linear: return (0, 4 * Self.round(atLeast: max(most * 1.05, 1) / 4))
        case .logarithmic:
            let low = pow(10, floor(log10(max(least, 1))))
            return (low, max(pow(10, ceil(log10(max(most, 1)))), low * 10))
        }
    }

    /// Returns the next number with one significant figure that is not below the value.
    private static func round(atLeast value: Double) -> Double {
        let power = pow(10, floor(log10(value)))
        return [1, 2, 3, 4, 5, 6, 8, 10].map { $0 * power }.first { $0 >= value } ?? value
    }

    /// Returns the label of a line. In a logarithmic chart, values below one are on the line of
    /// one.
    private func name(of level: Double) -> String {
        scale == .logarithmic && level <= 1 ? "0, 1" : format(level)
    }

    /// Returns four to seven values for horizontal lines.
    private func levels(_ low: Double, _ high: Double) -> [Double] {
        switch scale {
        case .linear: return (0...4).map { low + (high - low) * Double($0) / 4 }
        case .logarithmic:
            let (first, last) = (Int(log10(max(low, 1)).rounded()), Int(log10(high).rounded()))
            return stride(from: first, through: last, by: max(1, (last - first + 5) / 6)).map { pow(10, Double($0)) }
        }
    }

    private func n(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
