// SPDX-License-Identifier: Apache-2.0

#if Tracing
public import ConcurrentObserve
import Logging
public import Tracing

extension ObservationSequence {
    /// Returns this sequence with the context of each element: the `ServiceContext` and the logger
    /// of the task that made the change.
    ///
    /// An iterator returns elements in the task of its consumer. Therefore the consumer enters the
    /// context:
    ///
    /// ```swift
    /// for await change in car.name.changes().withContext() {
    ///     await change.withContext { change in await index.rename(change.new) }
    /// }
    /// ```
    ///
    /// Buffering, counts, `flush()` and the end are the same as without contexts.
    public func withContext() -> ObservationSequence<ContextualElement<Element>> {
        withContext { ContextualElement(element: $0, context: $1) }
    }
}

/// An element of a sequence, and the context of the task that made the change.
public struct ContextualElement<Element: Sendable>: Sendable {
    /// The element, as the sequence without contexts returns it.
    public let element: Element
    let context: TaskContext?

    /// The `ServiceContext` of the task that made the change; nil if it had none.
    public var serviceContext: ServiceContext? { context?.service }

    /// Calls `body` with the element in the context of the task that made the change. `body` runs
    /// on the caller's actor.
    ///
    /// If that task had no `ServiceContext`, `ServiceContext.current` is nil in `body`. If it had
    /// no logger with a label, `Logger.current` in `body` is the caller's.
    ///
    /// - Parameter body: Called once. Tasks that it makes inherit the context.
    public nonisolated(nonsending) func withContext<Result, Failure: Error>(
        _ body: nonisolated(nonsending) (Element) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        do {
            return try await ServiceContext.$current.withValue(serviceContext) {
                guard let logger = context?.logger else { return try await body(element) }
                return try await withLogger(logger) { _ in try await body(element) }
            }
        } catch {
            throw error as! Failure
        }
    }
}
#endif
