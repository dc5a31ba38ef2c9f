// SPDX-License-Identifier: Apache-2.0

/// Records short histories of operations on real threads. Checks for each history that an order of
/// its operations explains every result, so that the object is linearizable.
///
/// Each history has a new object, which `threads` threads use at once. A call blocks the calling
/// thread. Calls at the same time wait for each other, and for calls of `stress(…)`.
///
/// ```swift
/// try linearizable(as: Register.self, of: { Atomic64() }) { register, step in
///     switch step.random(below: 2) {
///     case 0: return .read(register.load())
///     default:
///         register.store(step.unique)
///         return .write(step.unique)
///     }
/// }
/// ```
///
/// - Parameters:
///   - name: The name in messages.
///   - specification: The behaviour of the object if operations follow one another.
///   - threads: The number of threads, 2 to 8. By default one for each processor, but at most 4.
///     With more threads, operations seldom overlap.
///   - operations: The number of operations of each thread in a history. All threads together may
///     have at most 64.
///   - duration: The time for which histories are recorded.
///   - histories: The largest number of histories. There is no limit by default.
///   - seed: Determines the operations. By default the environment's `STRESS_SEED`, or else a new
///     seed.
///   - make: Makes an object whose state is the initial state of the specification.
///   - perform: Chooses one operation with the step's random numbers, performs it, and returns it
///     together with its result.
/// - Returns: The counts of the recorded histories.
/// - Throws: ``HistoryFailure`` with the chart of the smallest part of a history that no order
///   explains, or if no two operations ever overlapped.
/// - Complexity: Judging is exponential in the number of operations of a history that overlap.
@discardableResult
public func linearizable<Object, Specification: SequentialSpecification>(
    _ name: String = #function,
    as specification: Specification.Type,
    threads: Int? = nil,
    operations: Int = 6,
    for duration: Duration = .seconds(5),
    histories: Int = .max,
    seed: UInt64? = nil,
    of make: @escaping @Sendable () -> Object,
    _ perform: @escaping @Sendable (_ object: Object, _ step: inout HistoryStep) -> Specification.Operation
) throws -> HistorySummary {
    let threads = threads ?? min(4, max(2, processorCount))
    precondition((2...8).contains(threads), "a history has 2 to 8 threads")
    precondition(operations > 0 && threads * operations <= 64, "a history has 1 to 64 operations")
    let subject = HistorySubject(name: name, summary: "") { threads in
        ObjectTrial<Object, Specification>(make(), threads, perform)
    }
    let seed = seed ?? Environment.seed
    let result = OneRun.shared.take {
        let plan = HistoryRecorder.Plan(
            histories: histories,
            end: nanoseconds() + UInt64(duration.seconds * 1e9),
            threads: threads,
            operations: operations,
            seed: seed
        )
        return CrashReport.during(name, seed: seed) {
            UserPoints.withPoints(of: nil) { HistoryRecorder(subject, plan).run() }
        }
    }
    let summary = HistorySummary(
        seed: seed,
        histories: result.histories,
        overlapping: result.overlapping,
        operations: result.operations
    )
    if result.witness != nil || result.overlapping == 0 { throw HistoryFailure(name, summary, result.witness) }
    return summary
}

/// One operation that a thread performs in a history.
public struct HistoryStep: Sendable {
    /// The number of the thread, from 0.
    public let thread: Int
    /// A number greater than 0 that no other operation of the history has.
    public let unique: Int
    /// The random numbers that choose the operation.
    public var generator: Generator

    /// Draws a number from 0 to `bound` - 1.
    public mutating func random(below bound: Int) -> Int { generator.below(bound) }
}

/// The counts of recorded histories.
public struct HistorySummary: Sendable {
    /// The seed with which the operations were chosen.
    public let seed: UInt64
    /// The number of histories that were recorded and judged.
    public let histories: Int
    /// The number of histories in which operations of two threads overlapped. The others show
    /// little.
    public let overlapping: Int
    /// The number of operations in all histories.
    public let operations: Int
}

/// Thrown if no order explains a history, or if operations never overlapped.
public struct HistoryFailure: Error, CustomStringConvertible {
    /// The counts when the failure was found.
    public let summary: HistorySummary
    /// The chart of the history that no order explains; nil if operations never overlapped.
    public let chart: String?
    public let description: String

    init(_ name: String, _ summary: HistorySummary, _ chart: String?) {
        (self.summary, self.chart) = (summary, chart)
        description =
            if let chart {
                """
                \(chart)
                  after \(summary.histories) histories; seed \(summary.seed): set STRESS_SEED to draw the same operations
                """
            } else {
                """
                \(name) proves nothing: no two operations overlapped in \(summary.histories) histories. Use more \
                processors, or put stressPoint(_:) between the steps of an operation.
                """
            }
    }
}

/// A new object, and the history that a few threads make with it.
private final class ObjectTrial<Object, Specification: SequentialSpecification>: HistoryTrial, @unchecked Sendable {
    // Unchecked: the test finds out whether threads may share the object. Each thread has its own
    // log, which is read when all have finished their steps.
    private final class Log {
        var history: [Interval<Specification.Operation>] = []
    }

    private let object: Object
    private let logs: [Log]
    private let perform: @Sendable (Object, inout HistoryStep) -> Specification.Operation

    init(
        _ object: Object,
        _ threads: Int,
        _ perform: @escaping @Sendable (Object, inout HistoryStep) -> Specification.Operation
    ) {
        (self.object, self.perform) = (object, perform)
        logs = (0..<threads).map { _ in Log() }
    }

    func step(_ thread: Int, _ index: Int, _ generator: inout Generator) {
        var step = HistoryStep(thread: thread, unique: thread * 64 + index + 1, generator: generator)
        logs[thread].history.append(timed(thread) { perform(object, &step) })
        generator = step.generator
    }

    func judge() -> HistoryVerdict {
        var verdict = HistoryVerdict()
        verdict.add(logs.flatMap(\.history), of: "the object", as: Specification.self)
        return verdict
    }
}
