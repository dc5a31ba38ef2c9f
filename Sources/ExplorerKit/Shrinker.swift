// SPDX-License-Identifier: Apache-2.0

/// Makes a failure as small as it gets: first operations are left out, then threads, then
/// preemptions.
///
/// After each omission the schedules are searched again: the failure may need other steps, but must
/// break the same invariant.
package struct Shrinker {
    /// A failing schedule of what is left.
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

    /// Schedules with more are too many.
    private static var mostPreemptions: Int { 4 }

    /// How many operations each thread has.
    package let operations: [Int]
    /// Looks for the failure without some operations and with at most so many preemptions.
    package let search: (_ omissions: Omissions, _ bound: Int) -> Candidate?

    package init(
        operations: [Int],
        search: @escaping (_ omissions: Omissions, _ bound: Int) -> Candidate?
    ) {
        (self.operations, self.search) = (operations, search)
    }

    /// - Parameter bound: Preemptions to allow while operations are left out.
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

    /// Something is left: what fails without any operation, fails with one.
    private func tryWithout(_ more: Set<Omissions.Operation>, _ smallest: inout Candidate, _ bound: Int) {
        let fewer = Omissions(smallest.omissions.operations.union(more))
        guard fewer != smallest.omissions, fewer.operations.count < operations.reduce(0, +),
            let simpler = search(fewer, bound)
        else { return }
        smallest = simpler
    }
}
