// SPDX-License-Identifier: Apache-2.0

/// A schedule for people: a row for each step, a column for each thread.
enum Columns {
    static func text(_ trace: [BatonRun.Step]) -> String {
        let threads = Set(trace.map(\.thread)).sorted()
        var titles: [Int: String] = [:]
        for step in trace where titles[step.thread] == nil {
            titles[step.thread] = "\(Schedule.letter(of: step.thread)) (\(step.name))"
        }
        var table = TextTable(threads.map { (titles[$0]!, false) })
        for step in trace {
            table.add(threads.map { $0 == step.thread ? step.label.description : "" })
        }
        return table.text
    }
}
