// SPDX-License-Identifier: Apache-2.0

/// A kind of object whose histories are recorded and judged.
package struct HistorySubject: Sendable {
    /// The name on the command line.
    package let name: String
    package let summary: String
    /// Makes new objects for this number of threads.
    package let makeTrial: @Sendable (_ threads: Int) -> any HistoryTrial

    package init(name: String, summary: String, makeTrial: @escaping @Sendable (_ threads: Int) -> any HistoryTrial) {
        (self.name, self.summary, self.makeTrial) = (name, summary, makeTrial)
    }
}
