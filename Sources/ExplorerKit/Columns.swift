// SPDX-License-Identifier: Apache-2.0

import StressKit

/// Formats a schedule as a table for people: a row for each step, a column for each thread.
package enum Columns {
    package struct Step {
        package let thread: Int
        /// The name of the thread's work.
        package let name: String
        /// The step at which the thread goes on.
        package let label: String

        package init(thread: Int, name: String, label: String) {
            (self.thread, self.name, self.label) = (thread, name, label)
        }
    }

    /// Returns the table as text.
    ///
    /// - Parameter rows: The largest number of rows. Of a longer schedule the middle is left out.
    package static func text(_ steps: [Step], atMost rows: Int = .max) -> String {
        let threads = Set(steps.map(\.thread)).sorted()
        var titles: [Int: String] = [:]
        for step in steps where titles[step.thread] == nil {
            titles[step.thread] = "\(Schedule.letter(of: step.thread)) (\(step.name))"
        }
        var table = TextTable(threads.map { (titles[$0]!, false) })
        for step in steps { table.add(threads.map { $0 == step.thread ? step.label : "" }) }
        let left = steps.count - rows
        guard left > 0 else { return table.text }
        var lines = table.text.split(separator: "\n", omittingEmptySubsequences: false)
        let first = 2 + rows / 2  // After the titles and the rule.
        lines.replaceSubrange(first..<first + left, with: ["… \(left) steps are left out …"])
        return lines.joined(separator: "\n")
    }
}
