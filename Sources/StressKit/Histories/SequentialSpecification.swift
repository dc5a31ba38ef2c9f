// SPDX-License-Identifier: Apache-2.0

/// The behaviour of an object whose operations follow one another. A concurrent history is compared
/// with it.
public protocol SequentialSpecification: Sendable {
    /// The object's abstract state.
    associatedtype State: Hashable & Sendable

    /// A call together with its result. The chart of a failure shows its description.
    associatedtype Operation: Sendable & CustomStringConvertible

    /// The state of a fresh object.
    static var initial: State { get }

    /// Returns the state after `operation`. Returns nil if its result is not possible in `state`.
    static func state(after operation: Operation, in state: State) -> State?

    /// Returns whether the operation never changes the state. A history stays linearizable without
    /// such operations, so the chart of a failure leaves them out if it can. The default is false.
    static func isObservation(_ operation: Operation) -> Bool
}

extension SequentialSpecification {
    public static func isObservation(_ operation: Operation) -> Bool { false }
}

/// One operation of a history, and the two moments between which it took effect.
package struct Interval<Operation: Sendable>: Sendable {
    package let thread: Int
    /// A moment before the call, in nanoseconds of the monotonic clock.
    package let start: UInt64
    /// A moment after the return.
    package let end: UInt64
    package let operation: Operation

    package init(thread: Int, start: UInt64, end: UInt64, operation: Operation) {
        (self.thread, self.start, self.end, self.operation) = (thread, start, end, operation)
    }

    /// Returns whether this operation had returned before the call of the other one.
    package func precedes(_ other: Interval) -> Bool { end < other.start }

    /// Returns another operation with the same times.
    package func map<Other: Sendable>(_ transform: (Operation) -> Other) -> Interval<Other> {
        Interval<Other>(thread: thread, start: start, end: end, operation: transform(operation))
    }
}

/// Runs `body`, and returns its result with its times.
package func timed<Result: Sendable>(_ thread: Int, _ body: () -> Result) -> Interval<Result> {
    let start = nanoseconds()
    let result = body()
    return Interval(thread: thread, start: start, end: nanoseconds(), operation: result)
}
