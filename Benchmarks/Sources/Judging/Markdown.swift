// SPDX-License-Identifier: Apache-2.0

/// Returns the lines of a table in Markdown.
package func markdownTable(_ heading: [String], _ rows: [[String]]) -> [String] {
    ([heading, heading.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |" }
}

/// Returns a number as text: two decimals below 10, one below 100, otherwise none.
package func decimal(_ value: Double) -> String {
    guard value.isFinite else { return "?" }
    let places = value < 10 ? 2 : value < 100 ? 1 : 0
    var scale = 1
    for _ in 0..<places { scale *= 10 }
    let scaled = Int((value * Double(scale)).rounded())
    guard places > 0 else { return String(scaled) }
    let fraction = String(scaled % scale)
    return "\(scaled / scale)." + String(repeating: "0", count: places - fraction.count) + fraction
}
