// SPDX-License-Identifier: Apache-2.0

/// The behaviour of an object whose operations follow one another: a concurrent history is judged
/// by it.
protocol SequentialSpecification: Sendable {
    /// The object's abstract state.
    associatedtype State: Hashable & Sendable

    /// A call together with its result.
    associatedtype Operation: Sendable & CustomStringConvertible

    static var initial: State { get }

    /// The state after `operation`, or nil where its result cannot come from `state`.
    static func state(after operation: Operation, in state: State) -> State?

    /// Whether the operation never changes the state: a history stays linearizable without it.
    static func isObservation(_ operation: Operation) -> Bool
}

/// One operation of a history, with the moments between which it took effect.
struct Interval<Operation: Sendable>: Sendable {
    let thread: Int
    /// Before the call, in nanoseconds of the monotonic clock.
    let start: UInt64
    /// After the return.
    let end: UInt64
    let operation: Operation

    /// Whether this operation had returned before the other was called.
    func precedes(_ other: Interval) -> Bool { end < other.start }
}
