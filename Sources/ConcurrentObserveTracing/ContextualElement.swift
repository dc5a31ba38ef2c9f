// SPDX-License-Identifier: Apache-2.0

#if Tracing
public import ConcurrentObserve
import Logging
public import Tracing

extension ObservationSequence {
    /// Returns the sequence with the context of each element: the `ServiceContext`, and the logger,
    /// of the task that made the change.
    ///
    /// An iterator returns elements in its consumer's task. So the consumer enters the context:
    ///
    /// ```swift
    /// for await change in car.name.changes().withContext() {
    ///     await change.withContext { change in await index.rename(change.new) }
    /// }
    /// ```
    ///
    /// Everything else is as without contexts: buffering, counts, `flush()`, and the end.
    public func withContext() -> ObservationSequence<ContextualElement<Element>> {
        withContext { ContextualElement(element: $0, context: $1) }
    }
}

/// An element of a sequence, and the context of the task that made the change.
public struct ContextualElement<Element: Sendable>: Sendable {
    /// The element that the sequence returns without contexts.
    public let element: Element
    let context: TaskContext?

    /// The `ServiceContext` of the task that made the change; nil if it had none.
    public var serviceContext: ServiceContext? { context?.service }

    /// Calls `body` with the element, on the caller's actor, in the context of the task that made
    /// the change.
    ///
    /// `ServiceContext.current` is nil in `body` if that task had none. `Logger.current` stays the
    /// caller's if that task had none with a label.
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
