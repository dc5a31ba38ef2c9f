// SPDX-License-Identifier: Apache-2.0

/// The behaviour of an object whose operations follow one another: a concurrent history is judged
/// by it.
public protocol SequentialSpecification: Sendable {
    /// The object's abstract state.
    associatedtype State: Hashable & Sendable

    /// A call together with its result. Its description is what the chart of a failure shows.
    associatedtype Operation: Sendable & CustomStringConvertible

    /// The state of a fresh object.
    static var initial: State { get }

    /// The state after `operation`, or nil where its result cannot come from `state`.
    static func state(after operation: Operation, in state: State) -> State?

    /// Whether the operation never changes the state: a history stays linearizable without it. The
    /// chart of a failure leaves out such operations where it can. False unless you say otherwise.
    static func isObservation(_ operation: Operation) -> Bool
}

extension SequentialSpecification {
    public static func isObservation(_ operation: Operation) -> Bool { false }
}

/// One operation of a history, with the moments between which it took effect.
package struct Interval<Operation: Sendable>: Sendable {
    package let thread: Int
    /// Before the call, in nanoseconds of the monotonic clock.
    package let start: UInt64
    /// After the return.
    package let end: UInt64
    package let operation: Operation

    package init(thread: Int, start: UInt64, end: UInt64, operation: Operation) {
        (self.thread, self.start, self.end, self.operation) = (thread, start, end, operation)
    }

    /// Whether this operation had returned before the other was called.
    package func precedes(_ other: Interval) -> Bool { end < other.start }

    /// Another operation at this time.
    package func map<Other: Sendable>(_ transform: (Operation) -> Other) -> Interval<Other> {
        Interval<Other>(thread: thread, start: start, end: end, operation: transform(operation))
    }
}

/// Does something, and records when.
package func timed<Result: Sendable>(_ thread: Int, _ body: () -> Result) -> Interval<Result> {
    let start = nanoseconds()
    let result = body()
    return Interval(thread: thread, start: start, end: nanoseconds(), operation: result)
}
