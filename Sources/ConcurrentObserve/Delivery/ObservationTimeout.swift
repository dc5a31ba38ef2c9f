// SPDX-License-Identifier: Apache-2.0

/// No value was accepted in time. `first(timeout:clock:where:)` throws this error.
///
/// ```swift
/// do {
///     try await state.first(timeout: .seconds(5)) { $0 == .ready }
/// } catch let error as ObservationTimeout<State> {
///     print("still \(error.lastValue!)")
/// }
/// ```
public struct ObservationTimeout<Value: Sendable>: Error, CustomStringConvertible {
    /// The last value that was not accepted; nil if there was none, as in a registry without an
    /// event.
    ///
    /// The last value of `weak.removingDuplicates()` is compared once more; it is nil if its
    /// referent has died.
    public let lastValue: Value?
    /// The timeout that was passed to the call.
    public let timeout: Duration

    public var description: String {
        let last = lastValue.map { "the last was \($0)" } ?? "there was none"
        return "no value was accepted within \(timeout); \(last)"
    }
}
