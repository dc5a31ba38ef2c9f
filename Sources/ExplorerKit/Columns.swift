// SPDX-License-Identifier: Apache-2.0

import StressKit

/// A schedule for people: a row for each step, a column for each thread.
package enum Columns {
    package struct Step {
        package let thread: Int
        /// The name of the thread's work.
        package let name: String
        /// Where it goes on.
        package let label: String

        package init(thread: Int, name: String, label: String) {
            (self.thread, self.name, self.label) = (thread, name, label)
        }
    }

    package static func text(_ steps: [Step]) -> String {
        let threads = Set(steps.map(\.thread)).sorted()
        var titles: [Int: String] = [:]
        for step in steps where titles[step.thread] == nil {
            titles[step.thread] = "\(Schedule.letter(of: step.thread)) (\(step.name))"
        }
        var table = TextTable(threads.map { (titles[$0]!, false) })
        for step in steps { table.add(threads.map { $0 == step.thread ? step.label : "" }) }
        return table.text
    }
}
