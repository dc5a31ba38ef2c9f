// SPDX-License-Identifier: Apache-2.0

/// The work of one thread in a round.
package struct ThreadRun: Equatable {
    /// The begin and the end in nanoseconds, of a clock that is the same for all threads of the
    /// round.
    let begin, end: Double
    /// The number of operations.
    let done: Int
    /// The number of times that the system took the processor from the thread.
    let preemptions: Int

    package init(begin: Double, end: Double, done: Int, preemptions: Int) {
        (self.begin, self.end, self.done, self.preemptions) = (begin, end, done, preemptions)
    }

    /// Returns the runs in a line that another program has written, with four numbers for each
    /// thread; nil if there are none.
    package static func parse(_ line: some StringProtocol) -> [ThreadRun]? {
        let numbers = line.split(separator: " ").map { Int($0) }
        guard !numbers.isEmpty, numbers.count.isMultiple(of: 4), !numbers.contains(nil) else { return nil }
        return stride(from: 0, to: numbers.count, by: 4).map {
            ThreadRun(
                begin: Double(numbers[$0]!),
                end: Double(numbers[$0 + 1]!),
                done: numbers[$0 + 2]!,
                preemptions: numbers[$0 + 3]!
            )
        }
    }
}

extension [ThreadRun] {
    /// The nanoseconds from the first begin to the last end.
    package var elapsed: Double { map(\.end).max()! - map(\.begin).min()! }

    /// The part of that time in which all threads ran.
    private var overlap: Double { (map(\.end).min()! - map(\.begin).max()!) / elapsed }

    fileprivate var isUndisturbed: Bool { overlap > 0.8 && allSatisfy { $0.preemptions == 0 } }
}

extension Sample {
    /// Makes a sample: the time of all threads, divided by the operations of all.
    package init(of runs: [ThreadRun]) {
        let time = runs.map { $0.end - $0.begin }.reduce(0, +)
        self.init(time / Double(runs.map(\.done).reduce(0, +)), isDisturbed: !runs.isUndisturbed)
    }

    /// Makes a sample: the time of the first thread, divided by its operations. The others must run
    /// at the same time.
    package init(ofFirst runs: [ThreadRun]) {
        let first = runs[0]
        self.init((first.end - first.begin) / Double(first.done), isDisturbed: !runs.isUndisturbed)
    }

    /// Returns the first undisturbed one of at most eight measurements. If all were disturbed,
    /// returns the last.
    package static func undisturbed(_ measure: () throws -> Sample) rethrows -> Sample {
        var last = try measure()
        for _ in 1..<8 where last.isDisturbed { last = try measure() }
        return last
    }
}
