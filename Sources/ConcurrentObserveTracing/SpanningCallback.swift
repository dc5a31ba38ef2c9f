// SPDX-License-Identifier: Apache-2.0

#if Tracing
public import Tracing

/// Returns a callback that runs in a new span each time it is called. The parent of this span is
/// the span in which the change was made, wherever the callback runs.
///
/// ```swift
/// let token = car.name.observe(
///     delivery: .queue(queue),
///     spanning("rename") { change in index.rename(change.new) }
/// )
/// ```
///
/// The span begins when the callback begins, and ends when it returns. A callback that is isolated
/// to an actor must call `withSpan` itself. A callback that is not wrapped costs nothing.
///
/// - Parameters:
///   - operationName: The name of each span.
///   - kind: The kind of each span.
///   - tracer: The tracer that makes the spans. If it is nil, each call uses the tracer that is
///     bootstrapped then.
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

/// Returns a callback that runs in a new span each time it is called. It has two parameters: the
/// event, and its owner or its observation.
///
/// The parent of the span is the span in which the change was made, wherever the callback runs. The
/// span begins when the callback begins, and ends when it returns.
///
/// - Parameters:
///   - operationName: The name of each span.
///   - kind: The kind of each span.
///   - tracer: The tracer that makes the spans. If it is nil, each call uses the tracer that is
///     bootstrapped then.
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
