// SPDX-License-Identifier: Apache-2.0

/// New objects that a few threads use once, and the histories of this use.
///
/// Each thread appends to its own array. The recorder shares nothing that would order the threads.
package protocol HistoryTrial: AnyObject, Sendable {
    /// Executes the calling thread's next operation, and records it.
    func step(_ thread: Int, _ index: Int, _ generator: inout Generator)

    /// Judges the recorded histories, and whether operations of different threads overlapped. All
    /// threads must have finished their steps.
    func judge() -> HistoryVerdict
}

/// The result of one trial.
package struct HistoryVerdict: Sendable {
    /// The number of recorded operations.
    package var operations = 0
    /// Whether operations of two threads overlapped on one object. If not, the history was
    /// sequential, and shows little.
    package var overlaps = false
    /// The chart of the first history that no order explains; nil if there is none.
    package var witness: String?

    package init() {}

    /// Judges the history of one object, and adds the verdict.
    package mutating func add<Specification: SequentialSpecification>(
        _ history: [Interval<Specification.Operation>],
        of object: @autoclosure () -> String,
        as specification: Specification.Type
    ) {
        operations += history.count
        overlaps = overlaps || history.overlaps()
        guard witness == nil, !Linearizability<Specification>.holds(history) else { return }
        let chart = HistoryChart.text(Linearizability<Specification>.witness(of: history))
        witness = "\(object()): no order of these operations explains their results\n\(chart)"
    }
}

extension Array {
    /// Whether two operations of different threads overlapped.
    fileprivate func overlaps<Operation>() -> Bool where Element == Interval<Operation> {
        let sorted = sorted { $0.start < $1.start }
        return zip(sorted, sorted.dropFirst()).contains { $0.thread != $1.thread && !$0.precedes($1) }
    }
}
