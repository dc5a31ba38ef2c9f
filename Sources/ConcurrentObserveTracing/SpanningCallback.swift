// SPDX-License-Identifier: Apache-2.0

#if Tracing
public import Tracing

/// Returns a callback that runs in a new span each time it is called. The parent is the span in
/// which the change was made, wherever the callback runs.
///
/// ```swift
/// let token = car.name.observe(
///     delivery: .queue(queue),
///     spanning("rename") { change in index.rename(change.new) }
/// )
/// ```
///
/// The span begins when the callback does, and ends when it returns. A callback that is isolated to
/// an actor calls `withSpan` itself. A callback that is not wrapped costs nothing.
///
/// - Parameters:
///   - operationName: The name of each span.
///   - kind: The kind of each span.
///   - tracer: The tracer that makes the spans. Nil stands for the one that is bootstrapped when
///     the callback is called.
///   - body: The callback.
public func spanning<Event>(
    _ operationName: String,
    ofKind kind: SpanKind = .internal,
    tracer: (any Tracer)? = nil,
    _ body: @escaping @Sendable (Event) -> Void
) -> @Sendable (Event) -> Void {
    { event in
        (tracer ?? InstrumentationSystem.tracer).withAnySpan(operationName, ofKind: kind) { _ in body(event) }
    }
}

/// Returns a callback of two parameters that runs in a new span each time it is called. It also
/// receives its owner or its observation.
///
/// The parent is the span in which the change was made, wherever the callback runs. The span begins
/// when the callback does, and ends when it returns.
///
/// - Parameters:
///   - operationName: The name of each span.
///   - kind: The kind of each span.
///   - tracer: The tracer that makes the spans. Nil stands for the one that is bootstrapped when
///     the callback is called.
///   - body: The callback.
public func spanning<First, Second>(
    _ operationName: String,
    ofKind kind: SpanKind = .internal,
    tracer: (any Tracer)? = nil,
    _ body: @escaping @Sendable (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    { first, second in
        (tracer ?? InstrumentationSystem.tracer).withAnySpan(operationName, ofKind: kind) { _ in body(first, second) }
    }
}
#endif
