// SPDX-License-Identifier: Apache-2.0

// # Contexts that travel
//
// With the trait `Tracing` a mailbox keeps each event together with the context of the task that
// sent it, as one `EventInContext`. It captures the context when the event enters, on the thread
// that makes the change, so an event and its context cannot be mixed up, whatever the policy drops.
// `OrderedObservation` binds the context around the closure; an iterator offers it. Without the
// trait a mailbox keeps the event itself: `Kept<Event>` is `Event`, and the rest of this file is
// not compiled.

#if Tracing
import Instrumentation
import Logging
import Synchronization

/// An event, as a mailbox keeps it.
@usableFromInline
internal typealias Kept<Event: Sendable> = EventInContext<Event>

/// The task-local values of a task that sends an event: the `ServiceContext`, and the logger of
/// swift-log. It is a class, so an event without a context carries only nil, which costs nothing to
/// copy.
@usableFromInline
package final class TaskContext: Sendable {
    package let service: ServiceContext?
    package let logger: Logger?

    private init(_ service: ServiceContext?, _ logger: Logger?) { (self.service, self.logger) = (service, logger) }

    /// The context of the calling task; nil if it has none.
    ///
    /// It runs no user code, so the caller may hold a lock. If it releases the context there,
    /// nothing is destroyed: the task itself keeps the values.
    @usableFromInline
    static var current: TaskContext? {
        let (service, logger) = (ServiceContext.current, currentLogger)
        return service == nil && logger == nil ? nil : TaskContext(service, logger)
    }

    /// The logger of the calling task; nil if it has none. The default logger does not count: it
    /// has no label, and swift-log returns it where no other logger is bound. A logger also does
    /// not count before `prepare()` has returned on one thread.
    private static var currentLogger: Logger? {
        // Acquire: pairs with the release in `prepare()`, so swift-log has its default logger.
        guard isPrepared.load(ordering: .acquiring) else { return nil }
        let logger = Logger.current
        return logger.label.isEmpty ? nil : logger
    }

    /// The logger that is bound while an event without a logger is delivered, if the delivering
    /// thread has a logger.
    private static let noLogger = Logger(label: "")

    /// Whether the default loggers exist.
    private static let isPrepared = Atomic<Bool>(false)

    /// Whether the calling task, or the task that made it, is in `prepare()`.
    @TaskLocal private static var isPreparing = false

    /// Makes the default loggers. Each calls the program's log handler factory, so this is called
    /// when a mailbox is made, under no lock. (P5)
    ///
    /// The factory may make a mailbox. Then swift-log waits for the factory, so the nested call
    /// must not ask for a logger, and neither may a thread that sends an event to that mailbox.
    @usableFromInline
    static func prepare() {
        // Acquire: pairs with the release below.
        if isPrepared.load(ordering: .acquiring) || isPreparing { return }
        $isPreparing.withValue(true) { _ = (Logger.current, noLogger) }
        // Release: pairs with the acquires in `currentLogger` and above.
        isPrepared.store(true, ordering: .releasing)
    }

    /// Calls `body` in `context`; nil stands for no context.
    ///
    /// - Parameter mayHaveOther: Whether the calling thread may have a context of its own. In that
    ///   case `body` does not see that context.
    @inlinable
    static func run(in context: TaskContext?, mayHaveOther: Bool, _ body: () -> Void) {
        if context == nil, !mayHaveOther { return body() }
        bind(context, mayHaveOther: mayHaveOther, body)
    }

    @usableFromInline
    static func bind(_ context: TaskContext?, mayHaveOther: Bool, _ body: () -> Void) {
        // Reading a task-local value takes time, so only the values that decide are read.
        let isHiding = mayHaveOther && context?.logger == nil && currentLogger != nil
        if context == nil, !isHiding, ServiceContext.current == nil { return body() }
        let service = context?.service
        guard let logger = context?.logger ?? (isHiding ? noLogger : nil) else {
            return ServiceContext.withValue(service, operation: body)
        }
        withLogger(logger) { _ in ServiceContext.withValue(service, operation: body) }
    }
}

/// An event, and the context of the task that sent it.
@usableFromInline
internal struct EventInContext<Event: Sendable>: Sendable {
    @usableFromInline var event: Event
    @usableFromInline let context: TaskContext?

    @inlinable
    init(_ event: Event, _ context: TaskContext?) { (self.event, self.context) = (event, context) }

    /// Calls the closure of an observer with the event, in its context.
    @inlinable @inline(__always)
    func deliver(onActor isOnActor: Bool, to body: (Event) -> Void) {
        TaskContext.run(in: context, mayHaveOther: !isOnActor) { body(event) }
    }
}

// MARK: - Keeping

extension CallbackForm where Event: Sendable {
    /// Returns this form for events as a mailbox keeps them (`Kept`).
    ///
    /// - Parameter isOnActor: Whether tasks of the library deliver the events, on an actor. Such a
    ///   task has no context. A thread that delivers may have one: a setter's, or one that runs the
    ///   main queue.
    @inlinable
    func kept(deliveredOnActor isOnActor: Bool) -> CallbackForm<Kept<Event>> {
        switch self {
        case .plain(let body):
            return .plain { kept in kept.deliver(onActor: isOnActor, to: body) }
        case .made(let make):
            return .made { observer in
                let body = make(observer)
                return { kept in kept.deliver(onActor: isOnActor, to: body) }
            }
        case .choosing(let make):
            return .choosing { observer, tally in
                let body = make(observer, tally)
                return { kept in kept.deliver(onActor: isOnActor, to: body) }
            }
        }
    }
}

extension Succession {
    /// This succession for events as a mailbox keeps them (`Kept`). An event that takes over an old
    /// value keeps its own context.
    @inlinable
    var kept: Succession<Kept<Event>> {
        Succession<Kept<Event>>(
            isAhead: { [isAhead] in isAhead($0.event) },
            succeed: { [succeed] in succeed(&$0.event, &$1.event) },
            beginning: { [beginning] in beginning($0.event).map { EventInContext($0, nil) } }
        )
    }
}

extension OrderedObservation {
    /// Makes the receiver that captures the context of each event that the source puts in.
    @inlinable
    func receiver<Sent>() -> EventReceiver<Sent> where Event == Kept<Sent> {
        TaskContext.prepare()
        let receiver: EventReceiver<Event> = receiver()
        return EventReceiver(
            enqueue: { event in receiver.enqueue(EventInContext(event, .current)) },
            wake: receiver.wake,
            drain: receiver.drain,
            join: receiver.join,
            hasJoined: receiver.hasJoined
        )
    }
}

extension Subscription {
    /// Makes the receiver that captures the context of each event that the source puts in.
    @inlinable
    func receiver<Sent: Sendable, Element>(
        _ element: @escaping @Sendable (Sent) -> Element
    ) -> EventReceiver<Sent> where Event == Kept<Element> {
        TaskContext.prepare()
        return receiver { sent in EventInContext(element(sent), .current) }
    }
}

/// Returns a closure that makes elements from kept events, by `element`. Each made element has the
/// event's context.
@inlinable
internal func keeping<Event, Element>(
    _ element: @escaping @Sendable (Event) -> Element?
) -> @Sendable (Kept<Event>) -> Kept<Element>? {
    { kept in element(kept.event).map { EventInContext($0, kept.context) } }
}

/// Returns an element without its context.
@inlinable
internal func unkept<Element>(_ kept: Kept<Element>?) -> Element? { kept?.event }

extension ObservationSequence {
    /// Returns a sequence whose elements `element` makes from the elements of this sequence and
    /// their contexts.
    package func withContext<Made>(
        _ element: @escaping @Sendable (Element, TaskContext?) -> Made
    ) -> ObservationSequence<Made> {
        ObservationSequence<Made> { [subscribe] in IteratorSource(subscribe(), element) }
    }
}

/// Whether the destruction of an event does nothing.
@inlinable
internal func isTrivial<Event>(_ event: Event) -> Bool {
    guard let type = Event.self as? any InContext.Type else { return _isPOD(Event.self) }
    return type.isTrivial(event)
}

/// An `EventInContext`, without the type of its event.
@usableFromInline
internal protocol InContext {
    var isTrivial: Bool { get }
}

extension InContext {
    @inlinable
    static func isTrivial<Event>(_ event: Event) -> Bool { (event as! Self).isTrivial }
}

extension EventInContext: InContext {
    @inlinable
    var isTrivial: Bool { _isPOD(Event.self) && context == nil }
}
#else
/// An event, as a mailbox keeps it.
@usableFromInline
internal typealias Kept<Event: Sendable> = Event

extension CallbackForm where Event: Sendable {
    @inlinable @inline(__always)
    func kept(deliveredOnActor: Bool) -> CallbackForm<Event> { self }
}

extension Succession {
    @inlinable @inline(__always)
    var kept: Succession<Event> { self }
}

@inlinable @inline(__always)
internal func keeping<Event, Element>(
    _ element: @escaping @Sendable (Event) -> Element?
) -> @Sendable (Event) -> Element? { element }

@inlinable @inline(__always)
internal func unkept<Element>(_ kept: Element?) -> Element? { kept }

/// Whether the destruction of an event does nothing.
@inlinable @inline(__always)
internal func isTrivial<Event>(_ event: borrowing Event) -> Bool { _isPOD(Event.self) }
#endif
