// SPDX-License-Identifier: Apache-2.0

/// Makes a failure as small as possible: it leaves out operations, then threads, then preemptions.
///
/// After each omission it searches the schedules again. The failure may then need other steps, but
/// it must break the same invariant.
package struct Shrinker {
    /// A failing schedule of the operations that are left.
    package struct Candidate: Equatable {
        package var omissions: Omissions
        package var schedule: Schedule
        package var preemptions: Int
        package var message: String

        package init(omissions: Omissions, schedule: Schedule, preemptions: Int, message: String) {
            (self.omissions, self.schedule) = (omissions, schedule)
            (self.preemptions, self.message) = (preemptions, message)
        }
    }

    /// The largest number of preemptions for which schedules are searched. With more there are too
    /// many schedules.
    private static var mostPreemptions: Int { 4 }

    /// The number of operations of each thread.
    package let operations: [Int]
    /// Searches for the failure without the operations in `omissions`, and with at most `bound`
    /// preemptions. Returns nil if it finds none.
    package let search: (_ omissions: Omissions, _ bound: Int) -> Candidate?

    package init(
        operations: [Int],
        search: @escaping (_ omissions: Omissions, _ bound: Int) -> Candidate?
    ) {
        (self.operations, self.search) = (operations, search)
    }

    /// Returns the smallest failure that it finds.
    ///
    /// - Parameter bound: The number of preemptions to allow while operations are left out.
    package func shrink(_ found: Candidate, bound: Int) -> Candidate {
        var smallest = found
        for thread in operations.indices.reversed() {
            for index in (0..<operations[thread]).reversed() {
                let operation = Omissions.Operation(thread: thread, index: index)
                tryWithout([operation], &smallest, bound)
            }
        }
        for thread in operations.indices.reversed() {
            tryWithout(Set((0..<operations[thread]).map { .init(thread: thread, index: $0) }), &smallest, bound)
        }
        // A random schedule may have more preemptions than can be searched.
        for fewer in 0..<min(smallest.preemptions, Self.mostPreemptions) {
            guard let simpler = search(smallest.omissions, fewer) else { continue }
            return simpler
        }
        return smallest
    }

    /// Tries to fail without these operations, too. At least one operation is left: a program
    /// without operations is no program.
    private func tryWithout(_ more: Set<Omissions.Operation>, _ smallest: inout Candidate, _ bound: Int) {
        let fewer = Omissions(smallest.omissions.operations.union(more))
        guard fewer != smallest.omissions, fewer.operations.count < operations.reduce(0, +),
            let simpler = search(fewer, bound)
        else { return }
        smallest = simpler
    }
}
