// SPDX-License-Identifier: Apache-2.0

extension Checker.Finding {
    /// The execution as a table: a column for each thread, in program order, with what every load
    /// read and from where.
    public var table: String {
        let columns = test.threads.indices.map { thread in
            [test.threads[thread].name] + lines(of: thread)
        }
        let widths = columns.map { $0.map(\.count).max() ?? 0 }
        let height = columns.map(\.count).max() ?? 0
        var rows: [String] = []
        for row in 0..<height {
            let cells = columns.indices.map { column in
                let text = row < columns[column].count ? columns[column][row] : ""
                return text + String(repeating: " ", count: widths[column] - text.count)
            }
            rows.append("    | " + cells.joined(separator: " | ") + " |")
            if row == 0 {
                rows.append("    |" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|")
            }
        }
        return
            (rows + coherence
            + (isRace ? ["    a data race: unordered accesses to a location that is not atomic"] : []))
            .joined(separator: "\n")
    }

    private func lines(of thread: Int) -> [String] {
        let events = execution.events
        let ordered = events.indices.filter { events[$0].thread == thread }.sorted {
            (events[$0].position, $0) < (events[$1].position, $1)
        }
        return ordered.compactMap { index -> String? in
            let event = events[index]
            guard let instruction = event.instruction else { return "~ interrupted by membarrier ~" }
            // An update's write and a call's second barrier stand on one line with what is before
            // them.
            if event.position % 4 != 0 { return nil }
            guard event.kind == .read else { return "\(instruction)" }
            let write = execution.readsFrom[index]!
            let origin = events[write].isInitial ? "its first value" : test.threads[events[write].thread].name
            let value = instruction.into.map { "\(outcome[$0]), " } ?? ""
            return "\(instruction) ← \(value)from \(origin)"
        }
    }

    private var coherence: [String] {
        let events = execution.events
        let locations = Dictionary(grouping: execution.rank.keys) { events[$0].location }
        return locations.filter { $0.value.count > 2 }.sorted { $0.key < $1.key }.map { location, writes in
            let order = writes.sorted { execution.rank[$0]! < execution.rank[$1]! }.map { write in
                let value = events[write].instruction.map { "\($0.value)" } ?? "?"
                return events[write].isInitial ? value : "\(value) (\(test.threads[events[write].thread].name))"
            }
            return "    \(location): " + order.joined(separator: ", then ")
        }
    }
}
