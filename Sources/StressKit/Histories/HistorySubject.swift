// SPDX-License-Identifier: Apache-2.0

/// A kind of object whose histories are recorded and judged.
package struct HistorySubject: Sendable {
    /// As the command line names it.
    package let name: String
    package let summary: String
    /// Fresh objects for so many threads.
    package let makeTrial: @Sendable (_ threads: Int) -> any HistoryTrial

    package init(name: String, summary: String, makeTrial: @escaping @Sendable (_ threads: Int) -> any HistoryTrial) {
        (self.name, self.summary, self.makeTrial) = (name, summary, makeTrial)
    }
}
